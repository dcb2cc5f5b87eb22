using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Slm2.Testee
{
    /// <summary>A testee over the .NET library: one JSON request a line in, one answer a line out (contract/conformance.md).</summary>
    public static class Program
    {
        /// <summary>Serve standard input; the exit status.</summary>
        public static int Main(string[] arguments)
        {
            if (arguments.Length != 2 || arguments[0] != "--artifact")
            {
                Console.Error.WriteLine("usage: testee --artifact FILE");
                return 2;
            }
            UTF8Encoding utf8 = new UTF8Encoding(false);
            using (StreamReader requests = new StreamReader(Console.OpenStandardInput(), utf8))
            using (StreamWriter answers = new StreamWriter(Console.OpenStandardOutput(), utf8) { NewLine = "\n" })
            using (Host host = new Host(File.ReadAllBytes(arguments[1])))
            {
                string line;
                while ((line = requests.ReadLine()) != null)
                {
                    answers.WriteLine(Json.Write(Answer(host, line)));
                    answers.Flush();
                }
            }
            return 0;
        }

        /// <summary>The answer to a line; whatever goes wrong is one.</summary>
        private static Json.Members Answer(Host host, string line)
        {
            Json.Members answer = new Json.Members { { "id", null } };
            try
            {
                Json.Members request = (Json.Members)Json.Read(line);
                answer[0] = new KeyValuePair<string, object>("id", request["id"]);
                answer.Add("result", host.Call((string)request["method"], new Params((Json.Members)request["params"])));
            }
            catch (Slm2Exception refusal)
            {
                answer.Add("error", Host.Refusal(refusal));
            }
            catch (Exception failure)
            {
                answer.Add("failure", failure.GetType().Name + ": " + failure.Message);
            }
            return answer;
        }
    }
}
