using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Slm2.Tests
{
    /// <summary>What the vectors cannot ask: strings, spans, memory, threads, and the ends of objects. Runs with no framework for tests.</summary>
    public static class Program
    {
        /// <summary>Run each test; the exit status.</summary>
        public static int Main()
        {
            int passed = 0;
            List<string> failed = new List<string>();
            foreach (Type type in new[] { typeof(TextTests), typeof(ChatTests), typeof(SamplingTests) })
            {
                foreach (MethodInfo test in type.GetMethods(BindingFlags.Static | BindingFlags.Public))
                {
                    try
                    {
                        test.Invoke(null, null);
                        passed++;
                    }
                    catch (TargetInvocationException failure)
                    {
                        failed.Add(type.Name + "." + test.Name + ": " + failure.InnerException);
                    }
                }
            }
            failed.ForEach(Console.Error.WriteLine);
            Console.WriteLine(passed + " passed, " + failed.Count + " failed");
            return failed.Count == 0 ? 0 : 1;
        }
    }

    /// <summary>What holds, or the test fails.</summary>
    internal static class Check
    {
        internal static void True(bool holds, string what)
        {
            if (!holds)
            {
                throw new InvalidOperationException(what);
            }
        }

        internal static void Same<T>(IEnumerable<T> expected, IEnumerable<T> found)
        {
            True(expected.SequenceEqual(found), "[" + string.Join(", ", expected) + "] expected, [" + string.Join(", ", found) + "] found");
        }

        internal static void Same(string expected, string found)
        {
            True(expected == found, expected + " expected, " + found + " found");
        }

        internal static void Same(object expected, object found)
        {
            True(Equals(expected, found), expected + " expected, " + found + " found");
        }

        internal static Slm2Exception Refused(string code, Action call)
        {
            try
            {
                call();
            }
            catch (Slm2Exception refusal)
            {
                Same(code, refusal.Code);
                True(refusal.Message.Length > 10, "the message says something");
                return refusal;
            }
            throw new InvalidOperationException("nothing was refused, " + code + " expected");
        }

        internal static void Throws<T>(Action call)
            where T : Exception
        {
            try
            {
                call();
            }
            catch (T)
            {
                return;
            }
            throw new InvalidOperationException("nothing was thrown, " + typeof(T).Name + " expected");
        }
    }
}
