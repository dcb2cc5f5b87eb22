using System;
using System.Collections.Generic;

namespace Slm2
{
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
