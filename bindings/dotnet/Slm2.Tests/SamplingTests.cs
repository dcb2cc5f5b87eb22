using System;
using System.Collections.Generic;
using System.Linq;

namespace Slm2.Tests
{
    /// <summary>Samplers, generations, generators.</summary>
    internal static class SamplingTests
    {
        private const int Width = 1000;
        private static readonly Contract Contract = Contract.Load();

        private static SamplingConfig Config(double temperature = 0.8, string rng = "pcg32", ulong seed = ulong.MaxValue, uint maxTokens = 8)
        {
            return SamplingConfig.Of(Profile.Contract, temperature, 40, 0.95, 0.01, 1.1, rng, seed, maxTokens, new uint[] { 5 });
        }

        private static float[] Row(ulong step)
        {
            return Contract.Conformance().Logits(3, step, 2.0, 6.0, false, Width);
        }

        public static void TheSameSeedDrawsTheSameIds()
        {
            using (Sampler one = Contract.Sampler(Config(), new uint[] { 1, 2 }, Width))
            using (Sampler two = Contract.Sampler(Config(), new uint[] { 1, 2 }, Width))
            {
                for (ulong step = 0; step < 50; step++)
                {
                    float[] row = Row(step);
                    Sample drawn = one.Sample(row, null, 3);
                    Check.Same(drawn.Id, two.Sample(new ReadOnlySpan<float>(row)).Id);
                    Check.True(drawn.Top.Length <= 3 && drawn.Top[0].Probability >= drawn.Probability, "the first is the most probable");
                    Check.Same((int)drawn.Sizes[3], one.Kept().Length);
                    Check.Same(4, drawn.Numbers.Length);
                }
                Check.Same(new KeyValuePair<ulong, ulong>(100, 0), one.Position);
            }
        }

        public static void AGeneratorGoesOnFromItsState()
        {
            using (Sampler sampler = Contract.Sampler(Config(), new uint[0], Width))
            {
                byte[] state = sampler.State();
                double uniform = sampler.Sample(Row(0)).Numbers[0];
                sampler.Restore(state);
                Check.Same(uniform, sampler.Sample(Row(1)).Numbers[0]);
                sampler.Advance(10);
                sampler.Extend(new uint[] { 7 });
                Check.Refused(ErrorCodes.GeneratorState, () => sampler.Restore(new byte[3]));
                Check.Refused(ErrorCodes.TokenIdOutOfRange, () => sampler.Extend(new uint[] { Width }));
                Check.Refused(ErrorCodes.LogitsLength, () => sampler.Sample(new float[5]));
                Check.Refused(ErrorCodes.AllowedLength, () => sampler.Sample(Row(0), new byte[5]));
                Check.Refused(ErrorCodes.LogitsInvalid, () => sampler.Sample(Enumerable.Repeat(float.NaN, Width).ToArray()));
            }
        }

        public static void AMaskAllowsWhatItSays()
        {
            byte[] mask = new byte[Width / 8];
            mask[2] = 1;
            using (Sampler sampler = Contract.Sampler(Config(), new uint[0], Width))
            {
                Check.Same(16u, sampler.Sample(Row(0), mask).Id);
            }
        }

        public static void ConfigurationsAreRefusedByName()
        {
            Action<SamplingConfig> use = config => Contract.Sampler(config, new uint[0], Width).Dispose();
            Check.Same("temperature", Check.Refused(ErrorCodes.InvalidValue, () => use(Config(-1))).Fields["field"]);
            Check.Refused(ErrorCodes.SamplingPairing, () => use(Config(1, "mt19937-torch")));
            Check.Refused(ErrorCodes.MissingField, () => use(SamplingConfig.FromJson("{}")));
            Check.Refused(ErrorCodes.JsonNumber, () => use(Config(double.NaN)));
            SamplingConfig full = SamplingConfig.Of(
                Profile.Contract, 1, 0, 1, 0, 1, "chacha8", 1, 1, new uint[0], null, "a name", new Dictionary<uint, double> { { 5, 1.5 } }, new uint[] { 7 }, 0.5, 0.25, new[] { "stop" });
            use(full);
            use(SamplingConfig.FromJson(full.ToJson()));
        }

        public static void AGenerationEnds()
        {
            float[] row = new float[SamplingConfig.Width];
            row[9707] = 1;
            using (Generation generation = Contract.Generation(Config(0, "pcg32", 1, 2), new uint[0], SpecialPolicy.Refuse))
            {
                Step step = generation.Step(row);
                Check.Same("Hello", step.Text);
                Check.Same(EndReason.None, step.Reason);
                Check.Same(new uint[] { 9707 }, generation.Sampler.Kept());
                Check.Throws<InvalidOperationException>(() => generation.Sampler.Sample(row));
                Check.Same(EndReason.MaxTokens, generation.Step(row).Reason);
                Check.Refused(ErrorCodes.GenerationEnded, () => generation.Step(row));
                Check.True(generation.ResultToJson().Contains("\"text\": \"HelloHello\""), "all that was delivered is there");
            }
            row[5] = 2;
            using (Generation generation = Contract.Generation(Config(0, "pcg32", 1, 2), new uint[0], SpecialPolicy.Refuse))
            {
                Check.Same(EndReason.StopToken, generation.Step(new ReadOnlySpan<float>(row)).Reason);
            }
        }

        public static void GeneratorsGiveThePublishedWords()
        {
            using (RandomGenerator generator = Contract.RandomGenerator("{\"rng\": \"pcg32\", \"seed\": 42, \"stream\": 54}"))
            {
                Check.Same(new uint[] { 0xa15c02b7, 0x7b47f409, 0xba1d3330 }, generator.Words(3));
                byte[] state = generator.State();
                double uniform = generator.Uniform();
                generator.Restore(state);
                Check.Same(uniform, generator.Uniform());
                generator.Advance(1);
                Check.Same(new KeyValuePair<ulong, ulong>(6, 0), generator.Position);
            }
        }

        public static void TheSamplerOfAGenerationKeepsItAlive()
        {
            Sampler sampler = Contract.Generation(Config(0), new uint[0], SpecialPolicy.Refuse).Sampler;
            GC.Collect();
            GC.WaitForPendingFinalizers();
            Check.Same(0, sampler.Kept().Length);
        }
    }
}
