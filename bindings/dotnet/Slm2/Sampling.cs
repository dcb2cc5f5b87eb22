using System;
using System.Collections.Generic;
using System.Globalization;

namespace Slm2
{
    /// <summary>All that a generation is told (contract/sampling.md, S-1 to S-5): nothing has a default of its surroundings.</summary>
    public sealed class SamplingConfig
    {
        /// <summary>Logits of a row of Qwen3-0.6B.</summary>
        public const int Width = 151936;

        private readonly string json;

        private SamplingConfig(string json)
        {
            this.json = json;
        }

        /// <summary>A configuration in JSON, an object of the fields by name. It is checked where it is used.</summary>
        public static SamplingConfig FromJson(string json)
        {
            if (json == null)
            {
                throw new ArgumentNullException(nameof(json));
            }
            return new SamplingConfig(json);
        }

        /// <summary>Every field that must be given; those after them are off where they are null.</summary>
        /// <param name="profile">Under which profile.</param>
        /// <param name="temperature">0 for the greatest logit, else above 0.</param>
        /// <param name="topK">How many of the greatest logits stay; 0 is off.</param>
        /// <param name="topP">Share of the mass that stays; 1 is off.</param>
        /// <param name="minP">Share of the greatest probability that a token must have; 0 is off.</param>
        /// <param name="repetitionPenalty">Above 0; 1 is off.</param>
        /// <param name="rng">pcg32 or chacha8 in profile contract, mt19937-torch in profile publisher.</param>
        /// <param name="seed">The seed.</param>
        /// <param name="maxTokens">After how many ids a generation ends.</param>
        /// <param name="stopIds">Ids that end a generation.</param>
        /// <param name="stream">The number of the stream; null for 0.</param>
        /// <param name="streamName">Its name, in place of the number.</param>
        /// <param name="logitBias">What is added to the logits of ids.</param>
        /// <param name="bannedIds">Ids that cannot be drawn.</param>
        /// <param name="presencePenalty">Taken once from the logit of each id of the output.</param>
        /// <param name="frequencyPenalty">Taken from the logit of each id of the output as often as it is there.</param>
        /// <param name="stopStrings">Texts that end a generation and are not part of its text.</param>
        public static SamplingConfig Of(
            Profile profile,
            double temperature,
            uint topK,
            double topP,
            double minP,
            double repetitionPenalty,
            string rng,
            ulong seed,
            uint maxTokens,
            IEnumerable<uint> stopIds,
            ulong? stream = null,
            string streamName = null,
            IReadOnlyDictionary<uint, double> logitBias = null,
            IEnumerable<uint> bannedIds = null,
            double? presencePenalty = null,
            double? frequencyPenalty = null,
            IEnumerable<string> stopStrings = null)
        {
            Json.Members members = new Json.Members
            {
                { "profile", profile == Profile.Contract ? "contract" : "publisher" },
                { "temperature", temperature },
                { "top_k", topK },
                { "top_p", topP },
                { "min_p", minP },
                { "repetition_penalty", repetitionPenalty },
                { "rng", rng },
                { "seed", seed },
                { "max_tokens", maxTokens },
                { "stop_ids", stopIds },
            };
            Json.Members bias = new Json.Members();
            foreach (KeyValuePair<uint, double> pair in logitBias ?? new Dictionary<uint, double>())
            {
                bias.Add(pair.Key.ToString(CultureInfo.InvariantCulture), pair.Value);
            }
            members.Add("logit_bias", bias);
            Add(members, "stream", streamName ?? (object)stream);
            Add(members, "banned_ids", bannedIds);
            Add(members, "presence_penalty", presencePenalty);
            Add(members, "frequency_penalty", frequencyPenalty);
            Add(members, "stop_strings", stopStrings);
            return new SamplingConfig(Json.Write(members));
        }

        /// <summary>The configuration in JSON.</summary>
        public string ToJson()
        {
            return json;
        }

        private static void Add(Json.Members members, string name, object value)
        {
            if (value != null)
            {
                members.Add(name, value);
            }
        }
    }

    /// <summary>A token among those that were kept.</summary>
    public struct RankedToken
    {
        internal RankedToken(Native.Ranked ranked)
        {
            Id = (uint)ranked.Id;
            Probability = ranked.Probability;
            LogProbability = ranked.LogProbability;
        }

        /// <summary>The token.</summary>
        public uint Id { get; }

        /// <summary>Among the kept ones.</summary>
        public double Probability { get; }

        /// <summary>Its natural logarithm.</summary>
        public double LogProbability { get; }
    }

    /// <summary>One draw.</summary>
    public sealed unsafe class Sample
    {
        internal Sample(Native.Sample sample, RankedToken[] top)
        {
            Id = (uint)sample.Id;
            Words = (uint)sample.Words;
            Sizes = new[] { (uint)sample.Sizes[0], (uint)sample.Sizes[1], (uint)sample.Sizes[2], (uint)sample.Sizes[3] };
            Probability = sample.Probability;
            LogProbability = sample.LogProbability;
            Numbers = new double[sample.NumberCount];
            for (int i = 0; i < Numbers.Length; i++)
            {
                Numbers[i] = sample.Numbers[i];
            }
            Top = top;
        }

        /// <summary>The token.</summary>
        public uint Id { get; }

        /// <summary>Among the kept ones.</summary>
        public double Probability { get; }

        /// <summary>Its natural logarithm.</summary>
        public double LogProbability { get; }

        /// <summary>How many ids were left before top_k, after it, after top_p and after min_p.</summary>
        public uint[] Sizes { get; }

        /// <summary>How many 32-bit words the step took from the generator.</summary>
        public uint Words { get; }

        /// <summary>What decided, for audits (S-62).</summary>
        public double[] Numbers { get; }

        /// <summary>The most probable of the kept tokens, as many as were asked for.</summary>
        public RankedToken[] Top { get; }
    }

    /// <summary>Draws the ids of one sequence (contract/sampling.md). Calls of several threads wait for each other.</summary>
    public sealed unsafe class Sampler : IDisposable
    {
        private readonly ContractState contract;
        private readonly SamplerHandle handle;
        private readonly object gate;
        private readonly object owner;

        internal Sampler(ContractState contract, SamplingConfig config, uint[] prompt, int width)
        {
            this.contract = contract;
            gate = new object();
            byte[] json = Context.Bytes(config.ToJson());
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(json))
                fixed (uint* ids = prompt)
                {
                    context.Check(Native.slm2_sampler_new(
                        context.Handle, contract.Handle, address, (UIntPtr)json.Length, ids, (UIntPtr)prompt.Length, (UIntPtr)width, out handle));
                }
            }
        }

        /// <summary>The sampler inside a generation, which keeps it alive.</summary>
        internal Sampler(ContractState contract, SamplerHandle inner, Generation owner, object gate)
        {
            this.contract = contract;
            this.owner = owner;
            this.gate = gate;
            handle = inner;
        }

        /// <summary>How many 32-bit words were taken since the seed: the low 64 bits, and the high ones.</summary>
        public KeyValuePair<ulong, ulong> Position
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        ulong* halves = stackalloc ulong[2];
                        context.Check(Native.slm2_sampler_position(context.Handle, handle, halves));
                        return new KeyValuePair<ulong, ulong>(halves[0], halves[1]);
                    }
                }
            }
        }

        /// <summary>Draw an id of one row of logits, and take it into the history.</summary>
        /// <param name="logits">One for each id.</param>
        /// <param name="allowed">A bit for each id, lowest first; null for all.</param>
        /// <param name="top">How many of the most probable kept tokens to tell.</param>
        /// <exception cref="Slm2Exception"><c>logits_…</c>, <c>allowed_length</c>; nothing has changed then</exception>
        public Sample Sample(float[] logits, byte[] allowed = null, int top = 0)
        {
            fixed (float* address = logits)
            {
                return Sample(address, logits.Length, allowed, top);
            }
        }

#if SLM2_SPAN
        /// <summary>The same of a span.</summary>
        public Sample Sample(ReadOnlySpan<float> logits, byte[] allowed = null, int top = 0)
        {
            fixed (float* address = &System.Runtime.InteropServices.MemoryMarshal.GetReference(logits))
            {
                return Sample(address, logits.Length, allowed, top);
            }
        }
#endif

        private Sample Sample(float* logits, int width, byte[] allowed, int top)
        {
            if (owner != null)
            {
                throw new InvalidOperationException("ids of a generation are drawn by its Step");
            }
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    Native.Sample sample;
                    fixed (byte* mask = allowed == null ? null : Context.Pinned(allowed))
                    {
                        UIntPtr length = (UIntPtr)(allowed == null ? 0 : allowed.Length);
                        context.Check(Native.slm2_sampler_sample(context.Handle, handle, logits, (UIntPtr)width, mask, length, (UIntPtr)top, out sample));
                    }
                    return new Sample(sample, Top(context));
                }
            }
        }

        internal RankedToken[] Top(Context context)
        {
            UIntPtr count;
            IntPtr address;
            int length = context.View(Native.slm2_sampler_top(context.Handle, handle, null, UIntPtr.Zero, out count), out address);
            RankedToken[] top = new RankedToken[length / sizeof(Native.Ranked)];
            for (int i = 0; i < top.Length; i++)
            {
                top[i] = new RankedToken(((Native.Ranked*)address)[i]);
            }
            return top;
        }

        /// <summary>The ids that the last step kept, rising; empty before the first.</summary>
        public uint[] Kept()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr count;
                    return context.Ids(Native.slm2_sampler_kept(context.Handle, handle, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>Take ids into the history that the model has seen and this sampler did not draw.</summary>
        /// <exception cref="Slm2Exception"><c>token_id_out_of_range</c></exception>
        public void Extend(uint[] ids)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (uint* address = ids)
                    {
                        context.Check(Native.slm2_sampler_extend(context.Handle, handle, address, (UIntPtr)ids.Length));
                    }
                }
            }
        }

        /// <summary>Go on as if so many words had been taken.</summary>
        public void Advance(ulong words)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    context.Check(Native.slm2_sampler_advance(context.Handle, handle, words));
                }
            }
        }

        /// <summary>The state of the generator, to be kept as it is (S-35). The history is not in it.</summary>
        public byte[] State()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr length;
                    return context.Result(Native.slm2_sampler_state(context.Handle, handle, null, UIntPtr.Zero, out length));
                }
            }
        }

        /// <summary>Go on from a saved state of a generator of the same kind.</summary>
        /// <exception cref="Slm2Exception"><c>generator_state</c></exception>
        public void Restore(byte[] state)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (byte* address = Context.Pinned(state))
                    {
                        context.Check(Native.slm2_sampler_restore(context.Handle, handle, address, (UIntPtr)state.Length));
                    }
                }
            }
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }

    /// <summary>Why a generation ended.</summary>
    public enum EndReason
    {
        /// <summary>It goes on.</summary>
        None = 0,

        /// <summary>An id of the stop ids was drawn.</summary>
        StopToken = 1,

        /// <summary>As many ids were drawn as are allowed.</summary>
        MaxTokens = 2,

        /// <summary>A stop string came.</summary>
        StopString = 3,

        /// <summary>What came is no text.</summary>
        FatalError = 4,
    }

    /// <summary>One step of a generation.</summary>
    public sealed class Step
    {
        internal Step(Sample sample, string text, EndReason reason)
        {
            Sample = sample;
            Text = text;
            Reason = reason;
        }

        /// <summary>The draw.</summary>
        public Sample Sample { get; }

        /// <summary>What became complete with it; may be empty.</summary>
        public string Text { get; }

        /// <summary>Why the generation ended with it.</summary>
        public EndReason Reason { get; }
    }

    /// <summary>Draws ids until something ends it; their text comes as soon as it is complete (S-80). Calls of several threads wait.</summary>
    public sealed unsafe class Generation : IDisposable
    {
        private readonly ContractState contract;
        private readonly GenerationHandle handle;
        private readonly object gate = new object();

        internal Generation(ContractState contract, SamplingConfig config, uint[] prompt, SpecialPolicy special, int width)
        {
            this.contract = contract;
            byte[] json = Context.Bytes(config.ToJson());
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(json))
                fixed (uint* ids = prompt)
                {
                    context.Check(Native.slm2_generation_new(
                        context.Handle, contract.Handle, (uint)special, address, (UIntPtr)json.Length, ids, (UIntPtr)prompt.Length, (UIntPtr)width, out handle));
                }
                IntPtr inner;
                context.Check(Native.slm2_generation_sampler(context.Handle, handle, out inner));
                Sampler = new Sampler(contract, SamplerHandle.Borrowed(inner), this, gate);
            }
        }

        /// <summary>Its sampler: what was kept, and the state of the generator.</summary>
        public Sampler Sampler { get; }

        /// <summary>Draw an id and deliver its text; its arguments are those of <c>Sampler.Sample</c>.</summary>
        /// <exception cref="Slm2Exception">
        /// Refusals of the sampler, after which the step may be tried again; <c>generation_ended</c>; <c>structural_id</c> and
        /// <c>token_id_out_of_range</c> of an id that the stream decoder refuses, which end the generation without a reason
        /// </exception>
        public Step Step(float[] logits, byte[] allowed = null, int top = 0)
        {
            fixed (float* address = logits)
            {
                return Step(address, logits.Length, allowed, top);
            }
        }

#if SLM2_SPAN
        /// <summary>The same of a span.</summary>
        public Step Step(ReadOnlySpan<float> logits, byte[] allowed = null, int top = 0)
        {
            fixed (float* address = &System.Runtime.InteropServices.MemoryMarshal.GetReference(logits))
            {
                return Step(address, logits.Length, allowed, top);
            }
        }
#endif

        private Step Step(float* logits, int width, byte[] allowed, int top)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    Native.Sample sample;
                    uint reason;
                    string text;
                    fixed (byte* mask = allowed == null ? null : Context.Pinned(allowed))
                    {
                        UIntPtr maskLength = (UIntPtr)(allowed == null ? 0 : allowed.Length);
                        UIntPtr length;
                        text = context.Text(Native.slm2_generation_step(
                            context.Handle, handle, logits, (UIntPtr)width, mask, maskLength, (UIntPtr)top, out sample, out reason, null, UIntPtr.Zero, out length));
                    }
                    return new Step(new Sample(sample, Sampler.Top(context)), text, (EndReason)reason);
                }
            }
        }

        /// <summary>The generation so far: <c>ids</c>, <c>text</c>, <c>reason</c>, <c>stopped_by</c>, <c>stop_string</c>, <c>pending</c>, <c>profile</c>.</summary>
        public string ResultToJson()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr length;
                    return context.Text(Native.slm2_generation_result(context.Handle, handle, null, UIntPtr.Zero, out length));
                }
            }
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }

    /// <summary>A generator of random words by itself (S-30 to S-35). Calls of several threads wait for each other.</summary>
    public sealed unsafe class RandomGenerator : IDisposable
    {
        private readonly ContractState contract;
        private readonly GeneratorHandle handle;
        private readonly object gate = new object();

        internal RandomGenerator(ContractState contract, string seed)
        {
            this.contract = contract;
            byte[] json = Context.Bytes(seed);
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(json))
                {
                    context.Check(Native.slm2_generator_new(context.Handle, address, (UIntPtr)json.Length, out handle));
                }
            }
        }

        /// <summary>How many words were taken since the seed: the low 64 bits, and the high ones.</summary>
        public KeyValuePair<ulong, ulong> Position
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        ulong* halves = stackalloc ulong[2];
                        context.Check(Native.slm2_generator_position(context.Handle, handle, halves));
                        return new KeyValuePair<ulong, ulong>(halves[0], halves[1]);
                    }
                }
            }
        }

        /// <summary>The next words.</summary>
        public uint[] Words(int count)
        {
            uint[] words = new uint[count];
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (uint* address = words)
                    {
                        context.Check(Native.slm2_generator_words(context.Handle, handle, address, (UIntPtr)count));
                    }
                }
            }
            return words;
        }

        /// <summary>A multiple of 2^-53 in [0, 1), from two words.</summary>
        public double Uniform()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    double uniform;
                    context.Check(Native.slm2_generator_uniform(context.Handle, handle, out uniform));
                    return uniform;
                }
            }
        }

        /// <summary>Go on as if so many words had been taken.</summary>
        public void Advance(ulong words)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    context.Check(Native.slm2_generator_advance(context.Handle, handle, words));
                }
            }
        }

        /// <summary>All there is to say about the generator.</summary>
        public byte[] State()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr length;
                    return context.Result(Native.slm2_generator_state(context.Handle, handle, null, UIntPtr.Zero, out length));
                }
            }
        }

        /// <summary>Go on from a saved state of a generator of the same kind.</summary>
        /// <exception cref="Slm2Exception"><c>generator_state</c></exception>
        public void Restore(byte[] state)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (byte* address = Context.Pinned(state))
                    {
                        context.Check(Native.slm2_generator_restore(context.Handle, handle, address, (UIntPtr)state.Length));
                    }
                }
            }
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
