using System;
using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("Slm2.Tests")]
[assembly: InternalsVisibleTo("Slm2.Testee")]

namespace Slm2
{
    /// <summary>What hosts compare the bits of: portable functions, rows of logits of a recipe (contract/sampling.md, S-70), digests.</summary>
    internal sealed unsafe class Conformance
    {
        private readonly ContractState contract;

        internal Conformance(ContractState contract)
        {
            this.contract = contract;
        }

        /// <summary>exp (0), log (1) or log1p (2) of each value, in its place.</summary>
        internal void Portable(uint function, double[] values)
        {
            using (Context context = contract.Rent())
            {
                fixed (double* address = values)
                {
                    context.Check(Native.slm2_portable(context.Handle, function, address, (UIntPtr)values.Length));
                }
            }
        }

        internal byte[] Sha256(byte[] bytes)
        {
            byte[] digest = new byte[32];
            using (Context context = contract.Rent())
            {
                fixed (byte* from = Context.Pinned(bytes))
                fixed (byte* to = digest)
                {
                    context.Check(Native.slm2_sha256(context.Handle, from, (UIntPtr)bytes.Length, to));
                }
            }
            return digest;
        }

        internal float[] Logits(ulong seed, ulong step, double scale, double head, bool bfloat16, int width)
        {
            float[] row = new float[width];
            using (Context context = contract.Rent())
            {
                fixed (float* address = row)
                {
                    uint rounded = bfloat16 ? 1u : 0u;
                    context.Check(Native.slm2_recipe_logits(context.Handle, seed, step, scale, head, rounded, address, (UIntPtr)width));
                }
            }
            return row;
        }

        internal uint[] History(ulong seed, int count, int width)
        {
            uint[] ids = new uint[count];
            using (Context context = contract.Rent())
            {
                fixed (uint* address = ids)
                {
                    context.Check(Native.slm2_recipe_history(context.Handle, seed, (UIntPtr)width, address, (UIntPtr)count));
                }
            }
            return ids;
        }
    }
}
