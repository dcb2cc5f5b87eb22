public static class Program { public static int Main() { return 0; } }
