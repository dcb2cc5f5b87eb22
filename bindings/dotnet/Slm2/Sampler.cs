using System;
using System.Collections.Generic;

namespace Slm2
{
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
}
