using System;
using System.Collections.Generic;

namespace Slm2
{
    /// <summary>What ranges count.</summary>
    public enum Unit
    {
        /// <summary>Bytes of the text's UTF-8.</summary>
        Bytes = 0,

        /// <summary>Scalar values.</summary>
        CodePoints = 1,

        /// <summary>Units of a string of .NET.</summary>
        Utf16 = 2,
    }

    /// <summary>An id and the range of the text that it came from.</summary>
    public struct TokenSpan
    {
        internal TokenSpan(Native.Span span)
        {
            Id = (uint)span.Id;
            Start = (long)span.Start;
            End = (long)span.End;
        }

        /// <summary>The id.</summary>
        public uint Id { get; }

        /// <summary>Where the range begins, in the unit that was asked for.</summary>
        public long Start { get; }

        /// <summary>Where it ends.</summary>
        public long End { get; }
    }

    /// <summary>The text of a special token in a text of a caller.</summary>
    public sealed class Finding
    {
        internal Finding(string source, long offset, uint id, string text)
        {
            Source = source;
            Offset = offset;
            Id = id;
            Text = text;
        }

        /// <summary>The field of the request; null where the text is none of a request.</summary>
        public string Source { get; }

        /// <summary>Where it begins, in bytes of the text's UTF-8.</summary>
        public long Offset { get; }

        /// <summary>The special token that it looks like; the text never becomes that id.</summary>
        public uint Id { get; }

        /// <summary>The text.</summary>
        public string Text { get; }

        internal static Finding Of(object json)
        {
            Json.Members members = (Json.Members)json;
            return new Finding((string)members["source"], (long)members["offset"], (uint)(long)members["id"], (string)members["text"]);
        }
    }

    /// <summary>Text to ids and back, under one profile (contract/tokenizer.md).</summary>
    /// <remarks>
    /// Strings count each unpaired surrogate as U+FFFD; bytes are encoded as they are, ill-formed or not. What a caller passes is
    /// untrusted: no text can become the id of a special token, except through <see cref="EncodeTrusted(string)"/>.
    /// </remarks>
    public sealed unsafe class Tokenizer
    {
        private readonly ContractState contract;
        private readonly Profile profile;

        internal Tokenizer(ContractState contract, Profile profile)
        {
            this.contract = contract;
            this.profile = profile;
        }

        /// <summary>Ids of untrusted text.</summary>
        /// <exception cref="Slm2Exception"><c>special_token_in_text</c>, <c>pretoken_too_long</c></exception>
        public uint[] Encode(string text, OnSpecial onSpecial = OnSpecial.Literal)
        {
            return Encode(Context.Bytes(text), onSpecial);
        }

        /// <summary>Ids of untrusted bytes.</summary>
        /// <exception cref="Slm2Exception"><c>special_token_in_text</c>, <c>pretoken_too_long</c></exception>
        public uint[] Encode(byte[] utf8, OnSpecial onSpecial = OnSpecial.Literal)
        {
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    UIntPtr count;
                    return context.Ids(Native.slm2_encode(
                        context.Handle, contract.Handle, (uint)profile, (uint)onSpecial, address, (UIntPtr)utf8.Length, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>Write the ids to the beginning of memory of the caller.</summary>
        /// <returns>How many ids were written.</returns>
        /// <exception cref="Slm2Exception"><c>output_too_small</c>, whose field <c>needed</c> says how many there are; nothing is written then</exception>
        public int EncodeInto(byte[] utf8, uint[] ids)
        {
            fixed (byte* address = Context.Pinned(utf8))
            fixed (uint* to = ids)
            {
                return EncodeInto(address, utf8.Length, to, ids.Length);
            }
        }

        private int EncodeInto(byte* utf8, int length, uint* ids, int capacity)
        {
            using (Context context = contract.Rent())
            {
                UIntPtr count;
                uint status = Native.slm2_encode(
                    context.Handle, contract.Handle, (uint)profile, (uint)OnSpecial.Literal, utf8, (UIntPtr)length, ids, (UIntPtr)capacity, out count);
                // Here the size is the caller's promise, and its breach a refusal.
                context.Check(status == Native.TooSmall ? Native.Refused : status);
                return (int)count;
            }
        }

#if SLM2_SPAN
        /// <summary>Write the ids to the beginning of memory of the caller; as <see cref="EncodeInto(byte[], uint[])"/>.</summary>
        public int EncodeInto(ReadOnlySpan<byte> utf8, Span<uint> ids)
        {
            fixed (byte* address = &System.Runtime.InteropServices.MemoryMarshal.GetReference(utf8))
            fixed (uint* to = &System.Runtime.InteropServices.MemoryMarshal.GetReference(ids))
            {
                return EncodeInto(address, utf8.Length, to, ids.Length);
            }
        }
#endif

        /// <summary>Each id with the range of the text that it came from (T-14).</summary>
        /// <exception cref="Slm2Exception">As <see cref="Encode(string, OnSpecial)"/></exception>
        public TokenSpan[] EncodeSpans(string text, Unit unit = Unit.Utf16, OnSpecial onSpecial = OnSpecial.Literal)
        {
            return EncodeSpans(Context.Bytes(text), unit, onSpecial);
        }

        /// <summary>The same of bytes.</summary>
        public TokenSpan[] EncodeSpans(byte[] utf8, Unit unit = Unit.Bytes, OnSpecial onSpecial = OnSpecial.Literal)
        {
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    UIntPtr count;
                    return Spans(context, Native.slm2_encode_spans(
                        context.Handle, contract.Handle, (uint)profile, (uint)onSpecial, (uint)unit, address, (UIntPtr)utf8.Length, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>How many ids <see cref="Encode(string, OnSpecial)"/> gives, without making them.</summary>
        public long Count(string text)
        {
            return Count(Context.Bytes(text));
        }

        /// <summary>The same of bytes.</summary>
        public long Count(byte[] utf8)
        {
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    UIntPtr count;
                    context.Check(Native.slm2_count(context.Handle, contract.Handle, (uint)profile, address, (UIntPtr)utf8.Length, out count));
                    return (long)count;
                }
            }
        }

        /// <summary>The count where it is not more than <paramref name="limit"/>; else null, and the rest of the text is not encoded.</summary>
        public long? CountUntil(string text, long limit)
        {
            return CountUntil(Context.Bytes(text), limit);
        }

        /// <summary>The same of bytes.</summary>
        public long? CountUntil(byte[] utf8, long limit)
        {
            if (limit < 0)
            {
                throw new ArgumentOutOfRangeException(nameof(limit));
            }
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    UIntPtr count;
                    context.Check(Native.slm2_count_until(
                        context.Handle, contract.Handle, (uint)profile, address, (UIntPtr)utf8.Length, (UIntPtr)(ulong)limit, out count));
                    ulong found = (ulong)count;
                    return found > (ulong)limit ? (long?)null : (long)found;
                }
            }
        }

        /// <summary>Ids of text in which the text of a special token <b>is</b> that token: for tools and tests, never for what users write.</summary>
        public uint[] EncodeTrusted(string text)
        {
            return EncodeTrusted(Context.Bytes(text));
        }

        /// <summary>The same of bytes.</summary>
        public uint[] EncodeTrusted(byte[] utf8)
        {
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    UIntPtr count;
                    return context.Ids(Native.slm2_encode_trusted(
                        context.Handle, contract.Handle, (uint)profile, address, (UIntPtr)utf8.Length, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>Where the texts of special tokens stand in a text: from the left, the longest at each place, not overlapping.</summary>
        public IReadOnlyList<Finding> FindSpecial(string text)
        {
            return FindSpecial(Context.Bytes(text));
        }

        /// <summary>The same of bytes.</summary>
        public IReadOnlyList<Finding> FindSpecial(byte[] utf8)
        {
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    UIntPtr count;
                    TokenSpan[] spans = Spans(context, Native.slm2_find_special(
                        context.Handle, contract.Handle, address, (UIntPtr)utf8.Length, null, UIntPtr.Zero, out count));
                    List<Finding> findings = new List<Finding>(spans.Length);
                    foreach (TokenSpan span in spans)
                    {
                        byte[] text = new byte[span.End - span.Start];
                        Array.Copy(utf8, span.Start, text, 0, text.Length);
                        findings.Add(new Finding(null, span.Start, span.Id, Context.String(text)));
                    }
                    return findings;
                }
            }
        }

        /// <summary>The bytes of tokens one after the other, which need not be UTF-8.</summary>
        /// <exception cref="Slm2Exception"><c>token_id_out_of_range</c>, <c>structural_id</c></exception>
        public byte[] Decode(uint[] ids, SpecialPolicy special)
        {
            using (Context context = contract.Rent())
            {
                fixed (uint* address = ids)
                {
                    UIntPtr length;
                    return context.Result(Native.slm2_decode(
                        context.Handle, contract.Handle, (uint)special, address, (UIntPtr)ids.Length, null, UIntPtr.Zero, out length));
                }
            }
        }

        /// <summary>The bytes of a plain token or the text of a special one.</summary>
        /// <exception cref="Slm2Exception"><c>token_id_out_of_range</c></exception>
        public byte[] TokenBytes(uint id)
        {
            using (Context context = contract.Rent())
            {
                UIntPtr length;
                return context.Result(Native.slm2_token_bytes(context.Handle, contract.Handle, id, null, UIntPtr.Zero, out length));
            }
        }

        /// <summary>The plain token that has exactly these bytes; null where there is none.</summary>
        public uint? TokenId(byte[] utf8)
        {
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    uint id;
                    context.Check(Native.slm2_token_id(context.Handle, contract.Handle, address, (UIntPtr)utf8.Length, out id));
                    return id == Native.NoId ? (uint?)null : id;
                }
            }
        }

        /// <summary>An encoder for a text that arrives in parts.</summary>
        public ChunkEncoder Chunks()
        {
            return new ChunkEncoder(contract, profile);
        }

        /// <summary>An empty text with its ids, to which more can be appended.</summary>
        public EncodedText EncodedText()
        {
            return new EncodedText(contract, profile);
        }

        private static TokenSpan[] Spans(Context context, uint status)
        {
            IntPtr address;
            int length = context.View(status, out address);
            TokenSpan[] spans = new TokenSpan[length / sizeof(Native.Span)];
            for (int i = 0; i < spans.Length; i++)
            {
                spans[i] = new TokenSpan(((Native.Span*)address)[i]);
            }
            return spans;
        }
    }
}
