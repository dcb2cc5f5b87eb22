using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Threading;

namespace Slm2.Tests
{
    /// <summary>Artifacts, tokenizer, streams.</summary>
    internal static class TextTests
    {
        private static readonly Contract Contract = Contract.Load();
        private static readonly uint[] Hello = { 9707, 11, 1879 };

        public static void TheEmbeddedArtifactSaysWhatItIs()
        {
            Check.Same(1, Contract.ContractVersion);
            Check.Same(151643, Contract.VocabularySize);
            Check.Same(151669, Contract.TokenLimit);
            Check.Same(64, Contract.SemanticDigest.Length);
            Check.Same(151644u, Contract.SpecialTokens["<|im_start|>"]);
            Check.True(Contract.Provenance.Count > 3, "there is a provenance");
            Check.True(Contract.TemplateSection.Length > 100, "there is a template");
        }

        public static void TextAndBytesHaveTheSameIds()
        {
            Check.Same(Hello, Contract.Tokenizer.Encode("Hello, world"));
            Check.Same(Hello, Contract.Tokenizer.Encode(Encoding.UTF8.GetBytes("Hello, world")));
            Check.Same(new uint[0], Contract.Tokenizer.Encode(""));
            Check.Same("Hello, world", Encoding.UTF8.GetString(Contract.Tokenizer.Decode(Hello, SpecialPolicy.Refuse)));
        }

        public static void UnpairedSurrogatesAreReplacementCharacters()
        {
            Check.Same(Contract.Tokenizer.Encode("\uFFFDa\uFFFD\uFFFD"), Contract.Tokenizer.Encode("\uD800a\uDC00\uDFFF"));
            Check.Same(Contract.Tokenizer.Encode("\uFFFD😀"), Contract.Tokenizer.Encode("\uD83D\uD83D\uDE00"));
            Check.Same(Contract.Tokenizer.Encode("\uFFFD"), Contract.Tokenizer.Encode("\uD83D"));
            string request = "{\"messages\": [{\"role\": \"user\", \"content\": \"\uD800\"}]}";
            using (Rendering rendering = Contract.Template.RenderRequest(request))
            {
                Check.True(rendering.Text.Contains("\uFFFD"), "it is in the prompt");
            }
        }

        public static void NoMarkOfByteOrderGetsLost()
        {
            Check.Same(Contract.Tokenizer.Encode(new byte[] { 0xEF, 0xBB, 0xBF, 0x61 }), Contract.Tokenizer.Encode("\uFEFFa"));
            using (StreamDecoder stream = Contract.StreamDecoder(SpecialPolicy.Refuse))
            {
                Check.Same("\uFEFFa", stream.Push(Contract.Tokenizer.Encode("\uFEFFa")));
            }
        }

        public static void PartsMayEndInsideAPair()
        {
            using (ChunkEncoder chunks = Contract.Tokenizer.Chunks())
            {
                List<uint> ids = new List<uint>(chunks.Push("a\uD83D"));
                ids.AddRange(chunks.Push("\uDE00b\uD83D"));
                ids.AddRange(chunks.Push(Encoding.UTF8.GetBytes("c")));
                ids.AddRange(chunks.Push("\uD83D"));
                ids.AddRange(chunks.Finish());
                Check.Same(Contract.Tokenizer.Encode("a😀b\uFFFDc\uFFFD"), ids);
                Check.Refused(ErrorCodes.TextClosed, () => chunks.Push("x"));
            }
        }

        public static void SpansCountWhatIsAskedFor()
        {
            TokenSpan[] spans = Contract.Tokenizer.EncodeSpans("a😀b");
            Check.Same(0L, spans[0].Start);
            Check.Same(4L, spans[spans.Length - 1].End);
            Check.Same(6L, Contract.Tokenizer.EncodeSpans("a😀b", Unit.Bytes).Last().End);
            Check.Same(3L, Contract.Tokenizer.EncodeSpans("a😀b", Unit.CodePoints).Last().End);
        }

        public static void RefusalsHaveTheirFields()
        {
            Slm2Exception refusal = Check.Refused(ErrorCodes.SpecialTokenInText, () => Contract.Tokenizer.Encode("ab<|im_end|>", OnSpecial.Reject));
            Finding finding = ((List<Finding>)refusal.Fields["findings"]).Single();
            Check.Same(2L, finding.Offset);
            Check.Same(151645u, finding.Id);
            refusal = Check.Refused(ErrorCodes.TokenIdOutOfRange, () => Contract.Tokenizer.TokenBytes(151669));
            Check.Same(151669L, refusal.Fields["id"]);
            Check.Refused(ErrorCodes.ArtifactTruncated, () => Slm2.Contract.Open(new byte[3]));
            Check.Refused(ErrorCodes.LimitOutOfRange, () => Slm2.Contract.Load(Profile.Contract, 1));
            Check.Throws<ArgumentNullException>(() => Contract.Tokenizer.Encode((string)null));
            Check.Throws<ArgumentOutOfRangeException>(() => Contract.Tokenizer.CountUntil("a", -1));
        }

        public static void MemoryOfTheCallerIsFilledOrLeftAlone()
        {
            byte[] text = Encoding.UTF8.GetBytes("Hello, world");
            uint[] memory = { 7, 7, 7, 7 };
            Check.Same(3, Contract.Tokenizer.EncodeInto(text, memory));
            Check.Same(new uint[] { 9707, 11, 1879, 7 }, memory);
            uint[] small = { 7, 7 };
            Slm2Exception refusal = Check.Refused(ErrorCodes.OutputTooSmall, () => Contract.Tokenizer.EncodeInto(text, small));
            Check.Same(3L, refusal.Fields["needed"]);
            Check.Same(new uint[] { 7, 7 }, small);
            Check.Same(3, Contract.Tokenizer.EncodeInto(new ReadOnlySpan<byte>(text), memory.AsSpan()));
        }

        public static void CountsAndTokens()
        {
            Check.Same(3L, Contract.Tokenizer.Count("Hello, world"));
            Check.Same((long?)3, Contract.Tokenizer.CountUntil("Hello, world", 3));
            Check.Same(null, Contract.Tokenizer.CountUntil("Hello, world", 2));
            Check.Same((uint?)1879, Contract.Tokenizer.TokenId(Encoding.UTF8.GetBytes(" world")));
            Check.Same(null, Contract.Tokenizer.TokenId(Encoding.UTF8.GetBytes("<|im_end|>")));
            Check.Same(new uint[] { 151645 }, Contract.Tokenizer.EncodeTrusted("<|im_end|>"));
            Check.Same("<|im_end|>", Contract.Tokenizer.FindSpecial("a<|im_end|>").Single().Text);
        }

        public static void TextsGrowAndFork()
        {
            using (EncodedText text = Contract.Tokenizer.EncodedText())
            {
                text.Append("user\n");
                using (EncodedText copy = text.Copy())
                {
                    Growth growth = text.Append("\nHi");
                    Check.Same(1L, growth.Keep);
                    Check.Same(new uint[] { 271, 13048 }, growth.Append);
                    Check.Same(Contract.Tokenizer.Encode("user\n\nHi"), text.Ids);
                    Check.Same(Contract.Tokenizer.Encode("user\n"), copy.Ids);
                }
            }
        }

        public static void StreamsAreStrict()
        {
            using (StreamDecoder stream = Contract.StreamDecoder(SpecialPolicy.Refuse))
            {
                uint[] ids = Contract.Tokenizer.Encode("naïve 👍🏽");
                Check.Same("naïve 👍🏽", string.Concat(ids.Select(stream.Push)));
                Check.Same((ulong)ids.Length, stream.Position);
                Check.Refused(ErrorCodes.StructuralId, () => stream.Push(151645));
                uint half = Contract.Tokenizer.TokenId(new byte[] { 0xF0 }).Value;
                Check.Same("", stream.Push(half));
                Check.Same(new byte[] { 0xF0 }, stream.Pending);
                Check.Refused(ErrorCodes.UnfinishedText, stream.Finish);
            }
        }

        public static void ManyThreadsShareAContract()
        {
            int wrong = 0;
            Thread[] threads = Enumerable.Range(0, 4).Select(number => new Thread(() =>
            {
                for (int i = 0; i < 500; i++)
                {
                    string text = "thread " + number + " says " + i;
                    byte[] back = Contract.Tokenizer.Decode(Contract.Tokenizer.Encode(text), SpecialPolicy.Refuse);
                    Interlocked.Add(ref wrong, Encoding.UTF8.GetString(back) == text ? 0 : 1);
                }
            })).ToArray();
            Array.ForEach(threads, thread => thread.Start());
            Array.ForEach(threads, thread => thread.Join());
            Check.Same(0, wrong);
        }

        public static void WhatWasMadeGoesOnAfterItsContract()
        {
            StreamDecoder stream;
            using (Contract contract = Slm2.Contract.Load())
            {
                stream = contract.StreamDecoder(SpecialPolicy.Refuse);
            }
            Check.Same("Hello, world", stream.Push(Hello));
            stream.Dispose();
            stream.Dispose();
            Check.Throws<ObjectDisposedException>(() => stream.Push(Hello));
        }

        public static void ProfilesDiffer()
        {
            using (Contract publisher = Slm2.Contract.Load(Profile.Publisher))
            {
                Check.Same(publisher.Tokenizer.Encode("é"), publisher.Tokenizer.Encode("e\u0301"));
                Check.True(!Contract.Tokenizer.Encode("e\u0301").SequenceEqual(Contract.Tokenizer.Encode("é")), "nothing is normalised");
            }
        }
    }
}
