using System;
using System.Collections.Generic;

namespace Slm2
{
    /// <summary>The ids of a text that arrives in parts, cut anywhere (T-15). Calls of several threads wait for each other.</summary>
    public sealed unsafe class ChunkEncoder : IDisposable
    {
        private readonly ContractState contract;
        private readonly ChunksHandle handle;
        private readonly object gate = new object();
        /// <summary>A high surrogate at the end of a part: its other half may come with the next (T-15).</summary>
        private string held = "";

        internal ChunkEncoder(ContractState contract, Profile profile)
        {
            this.contract = contract;
            using (Context context = contract.Rent())
            {
                context.Check(Native.slm2_chunks_new(context.Handle, contract.Handle, (uint)profile, out handle));
            }
        }

        /// <summary>How many bytes wait for what comes after them.</summary>
        public long Pending
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        UIntPtr bytes;
                        context.Check(Native.slm2_chunks_pending(context.Handle, handle, out bytes));
                        return (long)bytes;
                    }
                }
            }
        }

        /// <summary>The ids that are certain with this part, which may end inside a pair of surrogates.</summary>
        /// <exception cref="Slm2Exception"><c>pretoken_too_long</c>, which ends the text; <c>text_closed</c></exception>
        public uint[] Push(string part)
        {
            if (part == null)
            {
                throw new ArgumentNullException(nameof(part));
            }
            lock (gate)
            {
                string text = held + part;
                held = text.Length > 0 && char.IsHighSurrogate(text[text.Length - 1]) ? text.Substring(text.Length - 1) : "";
                return Taken(Context.Bytes(text.Substring(0, text.Length - held.Length)));
            }
        }

        /// <summary>The ids that are certain with these bytes.</summary>
        /// <exception cref="Slm2Exception"><c>pretoken_too_long</c>, which ends the text; <c>text_closed</c></exception>
        public uint[] Push(byte[] utf8)
        {
            lock (gate)
            {
                byte[] before = Released();
                byte[] all = new byte[before.Length + utf8.Length];
                before.CopyTo(all, 0);
                utf8.CopyTo(all, before.Length);
                return Taken(all);
            }
        }

        private byte[] Released()
        {
            byte[] bytes = Context.Bytes(held);
            held = "";
            return bytes;
        }

        private uint[] Taken(byte[] utf8)
        {
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    UIntPtr count;
                    return context.Ids(Native.slm2_chunks_push(context.Handle, handle, address, (UIntPtr)utf8.Length, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>The ids that the bytes that wait would have if the text ended here; it goes on all the same.</summary>
        public uint[] Rest()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr count;
                    return context.Ids(Native.slm2_chunks_rest(context.Handle, handle, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>End the text: the ids of what waits.</summary>
        public uint[] Finish()
        {
            lock (gate)
            {
                uint[] before = held.Length > 0 ? Taken(Released()) : new uint[0];
                using (Context context = contract.Rent())
                {
                    UIntPtr count;
                    uint[] rest = context.Ids(Native.slm2_chunks_finish(context.Handle, handle, null, UIntPtr.Zero, out count));
                    uint[] ids = new uint[before.Length + rest.Length];
                    before.CopyTo(ids, 0);
                    rest.CopyTo(ids, before.Length);
                    return ids;
                }
            }
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }

    /// <summary>How the ids of something that grows change.</summary>
    public struct Growth
    {
        internal Growth(long keep, uint[] append)
        {
            Keep = keep;
            Append = append;
        }

        /// <summary>How many ids stay; what comes after them goes.</summary>
        public long Keep { get; }

        /// <summary>What comes in its place.</summary>
        public uint[] Append { get; }
    }

    /// <summary>A text that grows at its end, with its ids (T-16). Calls of several threads wait for each other.</summary>
    public sealed unsafe class EncodedText : IDisposable
    {
        private readonly ContractState contract;
        private readonly TextHandle handle;
        private readonly List<uint> ids = new List<uint>();
        private readonly object gate = new object();

        internal EncodedText(ContractState contract, Profile profile)
        {
            this.contract = contract;
            using (Context context = contract.Rent())
            {
                context.Check(Native.slm2_text_new(context.Handle, contract.Handle, (uint)profile, out handle));
            }
        }

        private EncodedText(EncodedText other)
        {
            contract = other.contract;
            ids.AddRange(other.ids);
            using (Context context = contract.Rent())
            {
                context.Check(Native.slm2_text_copy(context.Handle, other.handle, out handle));
            }
        }

        /// <summary>The ids of all of the text.</summary>
        public uint[] Ids
        {
            get
            {
                lock (gate)
                {
                    return ids.ToArray();
                }
            }
        }

        /// <summary>Append text; a refusal leaves all as it was.</summary>
        /// <exception cref="Slm2Exception"><c>pretoken_too_long</c></exception>
        public Growth Append(string text)
        {
            return Append(Context.Bytes(text));
        }

        /// <summary>The same with bytes.</summary>
        public Growth Append(byte[] utf8)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (byte* address = Context.Pinned(utf8))
                    {
                        UIntPtr keep;
                        UIntPtr count;
                        uint[] append = context.Ids(Native.slm2_text_append(
                            context.Handle, handle, address, (UIntPtr)utf8.Length, out keep, null, UIntPtr.Zero, out count));
                        ids.RemoveRange((int)keep, ids.Count - (int)keep);
                        ids.AddRange(append);
                        return new Growth((long)keep, append);
                    }
                }
            }
        }

        /// <summary>Another one that goes on from here.</summary>
        public EncodedText Copy()
        {
            lock (gate)
            {
                return new EncodedText(this);
            }
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }

    /// <summary>Ids to text as they come (contract/stream.md). Calls of several threads wait for each other.</summary>
    public sealed unsafe class StreamDecoder : IDisposable
    {
        private readonly ContractState contract;
        private readonly StreamHandle handle;
        private readonly object gate = new object();

        internal StreamDecoder(ContractState contract, SpecialPolicy special)
        {
            this.contract = contract;
            using (Context context = contract.Rent())
            {
                context.Check(Native.slm2_stream_new(context.Handle, contract.Handle, (uint)special, out handle));
            }
        }

        /// <summary>How many ids were taken.</summary>
        public ulong Position
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        ulong count;
                        context.Check(Native.slm2_stream_position(context.Handle, handle, out count));
                        return count;
                    }
                }
            }
        }

        /// <summary>Bytes that have come and were not delivered: an open scalar value, or what made the stream fail.</summary>
        public byte[] Pending
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        UIntPtr length;
                        return context.Result(Native.slm2_stream_pending(context.Handle, handle, null, UIntPtr.Zero, out length));
                    }
                }
            }
        }

        /// <summary>Text that became complete with an id.</summary>
        public string Push(uint id)
        {
            return Push(new[] { id });
        }

        /// <summary>Text that became complete with ids.</summary>
        /// <exception cref="Slm2Exception">
        /// <c>token_id_out_of_range</c> and <c>structural_id</c>, which leave all as it was; <c>ill_formed_text</c>, whose field
        /// <c>text</c> has the text of this call; <c>stream_closed</c>
        /// </exception>
        public string Push(uint[] ids)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (uint* address = ids)
                    {
                        UIntPtr length;
                        return context.Text(Native.slm2_stream_push(context.Handle, handle, address, (UIntPtr)ids.Length, null, UIntPtr.Zero, out length));
                    }
                }
            }
        }

        /// <summary>End the stream.</summary>
        /// <exception cref="Slm2Exception"><c>unfinished_text</c>, <c>stream_closed</c></exception>
        public void Finish()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    context.Check(Native.slm2_stream_finish(context.Handle, handle));
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
