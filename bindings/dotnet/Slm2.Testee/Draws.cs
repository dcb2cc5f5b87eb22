using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;

namespace Slm2.Testee
{
    /// <summary>Sampling2: draws, generators, the portable functions, rows that any host can rebuild.</summary>
    internal static class Draws
    {
        private const int Every = 100;
        private static readonly string[] Functions = { "exp", "log", "log1p" };

        internal static void Add(Host host)
        {
            host.Add("sample", call => Sample(host.Contract(call), call));
            host.Add("sample_kept", call => SampleKept(host.Contract(call), call));
            host.Add("draw", call => Draw(host.Contract(call), call));
            host.Add("random_words", call => RandomWords(host.Contract(call), call));
            host.Add("restore", call => Restore(host.Contract(call), call));
            host.Add("portable", call => Portable(host.Contract(call), call));
            host.Add("recipe", call => Recipe(host.Contract(call), call));
            host.Add("generate", call => Generate(host.Contract(call), call));
        }

        private static string Bits(double value)
        {
            return BitConverter.DoubleToInt64Bits(value).ToString("x16", CultureInfo.InvariantCulture);
        }

        private static float Float(string digits)
        {
            uint bits = uint.Parse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            return BitConverter.ToSingle(BitConverter.GetBytes(bits), 0);
        }

        private static byte[] Bytes<T>(T[] numbers)
        {
            byte[] bytes = new byte[Buffer.ByteLength(numbers)];
            Buffer.BlockCopy(numbers, 0, bytes, 0, bytes.Length);
            return bytes;
        }

        private static string Kept(Contract contract, Sampler sampler)
        {
            return Host.Sha256(contract, Bytes(sampler.Kept())).Substring(0, 16);
        }

        private static Sampler NewSampler(Contract contract, Params call)
        {
            return contract.Sampler(SamplingConfig.FromJson(call.Text("config")), call.Ids("history"), (int)call.Integer("width"));
        }

        private static float[] Logits(Contract contract, Params recipe, ulong offset, int width)
        {
            ulong step = recipe.Unsigned("step") + offset;
            bool bfloat16 = (bool)recipe.Value("bfloat16");
            return contract.Conformance().Logits(recipe.Unsigned("seed"), step, recipe.Number("scale"), recipe.Number("head"), bfloat16, width);
        }

        /// <summary>A row: of a recipe, or one value with exceptions.</summary>
        private static float[] Row(Contract contract, Params spec, int width)
        {
            if (spec.Has("recipe"))
            {
                return Logits(contract, spec.Inner("recipe"), 0, width);
            }
            float[] row = Enumerable.Repeat(Float(spec.Text("fill")), width).ToArray();
            foreach (KeyValuePair<string, object> exception in (Json.Members)spec.Value("set"))
            {
                row[int.Parse(exception.Key, CultureInfo.InvariantCulture)] = Float((string)exception.Value);
            }
            return row;
        }

        private static Json.Members Sample(Contract contract, Params call)
        {
            int width = (int)call.Integer("width");
            byte[] allowed = call.Has("allowed") ? Params.Hex(call.Text("allowed")) : null;
            using (Sampler sampler = NewSampler(contract, call))
            {
                List<Json.Members> steps = call.List("rows").ConvertAll(spec =>
                {
                    float[] row = Row(contract, new Params((Json.Members)spec), width);
                    return Step(contract, sampler, sampler.Sample(row, allowed, (int)call.Integer("top", 0)));
                });
                return new Json.Members { { "steps", steps } };
            }
        }

        private static Json.Members Step(Contract contract, Sampler sampler, Sample drawn)
        {
            return new Json.Members
            {
                { "id", drawn.Id },
                { "probability", Bits(drawn.Probability) },
                { "log_probability", Bits(drawn.LogProbability) },
                { "sizes", drawn.Sizes },
                { "kept", Kept(contract, sampler) },
                { "words", drawn.Words },
                { "numbers", drawn.Numbers.Select(Bits) },
                { "top", drawn.Top.Select(token => new object[] { token.Id, Bits(token.Probability), Bits(token.LogProbability) }) },
            };
        }

        private static Json.Members SampleKept(Contract contract, Params call)
        {
            int width = (int)call.Integer("width");
            using (Sampler sampler = NewSampler(contract, call))
            {
                List<object[]> steps = call.List("rows").ConvertAll(spec =>
                {
                    Sample drawn = sampler.Sample(Row(contract, new Params((Json.Members)spec), width));
                    return new object[] { drawn.Id, drawn.Sizes[3], Kept(contract, sampler) };
                });
                return new Json.Members { { "steps", steps } };
            }
        }

        /// <summary>A long run over rows that are made once.</summary>
        private static Json.Members Draw(Contract contract, Params call)
        {
            int width = (int)call.Integer("width");
            float[][] rows = new float[call.Integer("cycle")][];
            for (int i = 0; i < rows.Length; i++)
            {
                rows[i] = Logits(contract, call.Inner("recipe"), (ulong)i, width);
            }
            long steps = call.Integer("steps");
            long every = call.Integer("every", Every);
            List<uint> ids = new List<uint>();
            List<string> digests = new List<string>();
            using (MemoryStream stretch = new MemoryStream())
            using (BinaryWriter writer = new BinaryWriter(stretch))
            using (Sampler sampler = NewSampler(contract, call))
            {
                for (long step = 1; step <= steps; step++)
                {
                    Sample drawn = sampler.Sample(rows[(step - 1) % rows.Length]);
                    ids.Add(drawn.Id);
                    writer.Write(drawn.Id);
                    writer.Write(drawn.Sizes[3]);
                    writer.Write(drawn.Probability);
                    writer.Write(drawn.LogProbability);
                    if (step % every == 0 || step == steps)
                    {
                        digests.Add(Host.Sha256(contract, stretch.ToArray()));
                        stretch.SetLength(0);
                    }
                }
                return new Json.Members { { "ids", ids }, { "digests", digests }, { "position", Decimal(sampler.Position) } };
            }
        }

        /// <summary>A number of 128 bits in decimal digits.</summary>
        private static string Decimal(KeyValuePair<ulong, ulong> halves)
        {
            uint[] limbs = { (uint)(halves.Value >> 32), (uint)halves.Value, (uint)(halves.Key >> 32), (uint)halves.Key };
            string digits = "";
            do
            {
                ulong rest = 0;
                for (int i = 0; i < limbs.Length; i++)
                {
                    ulong dividend = rest << 32 | limbs[i];
                    limbs[i] = (uint)(dividend / 10);
                    rest = dividend % 10;
                }
                digits = (char)('0' + rest) + digits;
            }
            while (limbs.Any(limb => limb != 0));
            return digits;
        }

        /// <summary>Rows in which one id is greatest, one after the other.</summary>
        private static Json.Members Generate(Contract contract, Params call)
        {
            SamplingConfig config = SamplingConfig.FromJson(call.Text("config"));
            List<string> texts = new List<string>();
            Json.Members refusal = null;
            using (Generation generation = contract.Generation(config, new uint[0], call.Special))
            {
                float[] row = new float[SamplingConfig.Width];
                foreach (uint id in call.Ids("ids"))
                {
                    row[id] = 1;
                    try
                    {
                        texts.Add(generation.Step(row).Text);
                    }
                    catch (Slm2Exception refused)
                    {
                        refusal = Host.Refusal(refused);
                        break;
                    }
                    row[id] = 0;
                }
                Json.Members result = (Json.Members)Json.Read(generation.ResultToJson());
                return new Json.Members
                {
                    { "texts", texts },
                    { "drawn", result["ids"] },
                    { "reason", result["reason"] },
                    { "stopped_by", result["stopped_by"] },
                    { "stop_string", result["stop_string"] },
                    { "pending", result["pending"] },
                    { "refusal", refusal },
                };
            }
        }

        private static RandomGenerator NewGenerator(Contract contract, Params call)
        {
            Json.Members seed = new Json.Members { { "rng", call.Text("rng") } };
            seed.Add("seed", call.Has("key") ? call.Text("key") : (object)new Json.RawJson(call.Text("seed")));
            if (call.Has("stream_name"))
            {
                seed.Add("stream", call.Text("stream_name"));
            }
            else if (call.Has("stream"))
            {
                seed.Add("stream", new Json.RawJson(call.Text("stream")));
            }
            return contract.RandomGenerator(Json.Write(seed));
        }

        private static Json.Members RandomWords(Contract contract, Params call)
        {
            using (RandomGenerator generator = NewGenerator(contract, call))
            {
                foreach (object jump in call.List("advance"))
                {
                    generator.Advance(ulong.Parse((string)jump, CultureInfo.InvariantCulture));
                }
                byte[] state = generator.State();
                double uniform = generator.Uniform();
                generator.Restore(state);
                return new Json.Members
                {
                    { "state", Host.Sha256(contract, state) },
                    { "position", Decimal(generator.Position) },
                    { "words", generator.Words((int)call.Integer("count")) },
                    { "uniform", Bits(uniform) },
                };
            }
        }

        private static Json.Members Restore(Contract contract, Params call)
        {
            using (RandomGenerator generator = NewGenerator(contract, call))
            {
                generator.Restore(Params.Hex(call.Text("state")));
                string position = Decimal(generator.Position);
                return new Json.Members { { "position", position }, { "words", generator.Words((int)call.Integer("count")) } };
            }
        }

        private static Json.Members Portable(Contract contract, Params call)
        {
            double[] values = call.List("values").Select(pattern => BitConverter.Int64BitsToDouble(
                (long)ulong.Parse((string)pattern, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture))).ToArray();
            contract.Conformance().Portable((uint)Array.IndexOf(Functions, call.Text("function")), values);
            return new Json.Members { { "values", values.Select(Bits) } };
        }

        private static Json.Members Recipe(Contract contract, Params call)
        {
            int width = (int)call.Integer("width");
            Params recipe = call.Inner("recipe");
            float[] row = Logits(contract, recipe, 0, width);
            IEnumerable<string> first = row.Take(4).Select(logit =>
                BitConverter.ToUInt32(BitConverter.GetBytes(logit), 0).ToString("x8", CultureInfo.InvariantCulture));
            uint[] history = contract.Conformance().History(recipe.Unsigned("seed"), (int)call.Integer("count"), width);
            return new Json.Members { { "first", first }, { "sha256", Host.Sha256(contract, Bytes(row)) }, { "history", history } };
        }
    }
}
