using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;

namespace Slm2.Testee
{
    /// <summary>What no vector asks: other artifacts, everything there is of a kind, memory.</summary>
    internal static class Sweeps
    {
        internal static void Add(Host host)
        {
            host.Add("open", Open);
            host.Add("special_tokens", call => SpecialTokens(host.Contract(call)));
            host.Add("tokens", call => Tokens(host.Contract(call), call));
            host.Add("scalars", call => Scalars(host.Contract(call), call));
            host.Add("memory", call => Memory());
        }

        private static Json.Members Open(Params call)
        {
            using (Contract contract = Contract.Open(call.Bytes, Profile.Contract, call.MaxPretoken))
            {
                return new Json.Members { { "semantic_digest", contract.SemanticDigest }, { "file_digest", contract.FileDigest } };
            }
        }

        private static Json.Members SpecialTokens(Contract contract)
        {
            IEnumerable<object[]> tokens = contract.SpecialTokens.OrderBy(token => token.Value).Select(token => new object[] { token.Value, token.Key });
            return new Json.Members { { "tokens", tokens } };
        }

        private static Json.Members Tokens(Contract contract, Params call)
        {
            Tokenizer tokenizer = contract.Tokenizer;
            using (Digest bytes = new Digest())
            using (Digest decoded = new Digest())
            using (Digest ids = new Digest())
            using (Digest encoded = new Digest())
            {
                for (uint id = (uint)call.Integer("first"); id <= call.Integer("last"); id++)
                {
                    byte[] token = tokenizer.TokenBytes(id);
                    bytes.Token(id, token);
                    decoded.Token(id, tokenizer.Decode(new[] { id }, SpecialPolicy.Bytes));
                    ids.Numbers.Write(tokenizer.TokenId(token) ?? uint.MaxValue);
                    encoded.Ids(tokenizer.Encode(token)); // of profile contract, which a call without one has
                }
                return new Json.Members { { "bytes", bytes.Hex(contract) }, { "decoded", decoded.Hex(contract) }, { "ids", ids.Hex(contract) }, { "encoded", encoded.Hex(contract) } };
            }
        }

        private static Json.Members Scalars(Contract contract, Params call)
        {
            Tokenizer tokenizer = contract.Tokenizer;
            using (Digest stream = new Digest())
            {
                for (int scalar = (int)call.Integer("first"); scalar <= call.Integer("last"); scalar++)
                {
                    if (scalar >= 0xD800 && scalar < 0xE000)
                    {
                        continue;
                    }
                    string text = char.ConvertFromUtf32(scalar);
                    stream.Ids(tokenizer.Encode(text));
                    stream.Ids(tokenizer.Encode("a" + text + "b"));
                    stream.Ids(tokenizer.Encode(" " + text + " "));
                    stream.Ids(tokenizer.Encode("\n" + text + "\n"));
                }
                return new Json.Members { { "sha256", stream.Hex(contract) } };
            }
        }

        private static Json.Members Memory()
        {
            using (Process process = Process.GetCurrentProcess())
            {
                return new Json.Members { { "bytes", process.PeakWorkingSet64 }, { "measured", "process" } };
            }
        }

        /// <summary>Integers and bytes on their way into a digest; numbers are u32, little-endian.</summary>
        private sealed class Digest : IDisposable
        {
            private readonly MemoryStream stream = new MemoryStream();

            internal Digest()
            {
                Numbers = new BinaryWriter(stream);
            }

            internal BinaryWriter Numbers { get; }

            public void Dispose()
            {
                Numbers.Dispose();
            }

            internal void Token(uint id, byte[] bytes)
            {
                Numbers.Write(id);
                Numbers.Write((uint)bytes.Length);
                Numbers.Write(bytes);
            }

            internal void Ids(uint[] ids)
            {
                Numbers.Write((uint)ids.Length);
                foreach (uint id in ids)
                {
                    Numbers.Write(id);
                }
            }

            internal string Hex(Contract contract)
            {
                return Host.Sha256(contract, stream.ToArray());
            }
        }
    }
}
