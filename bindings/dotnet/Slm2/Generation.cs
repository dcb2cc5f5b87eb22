using System;

namespace Slm2
{
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
}
