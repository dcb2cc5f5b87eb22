using System;
using System.Collections.Generic;
using System.Linq;

namespace Slm2.Testee
{
    /// <summary>Tokenizer2 and the strict decoder.</summary>
    internal static class Texts
    {
        internal static void Add(Host host)
        {
            host.Add("encode", call => Ids(Encode(host.Contract(call).Tokenizer, call)));
            host.Add("encode_spans", call => EncodeSpans(host.Contract(call).Tokenizer, call));
            host.Add("encode_into", call => EncodeInto(host.Contract(call).Tokenizer, call));
            host.Add("encode_trusted", call => EncodeTrusted(host.Contract(call).Tokenizer, call));
            host.Add("count", call => Count(host.Contract(call).Tokenizer, call));
            host.Add("count_until", call => CountUntil(host.Contract(call).Tokenizer, call));
            host.Add("chunks", call => Chunks(host.Contract(call).Tokenizer, call));
            host.Add("append", call => Append(host.Contract(call).Tokenizer, call));
            host.Add("find_special", call => FindSpecial(host.Contract(call).Tokenizer, call));
            host.Add("decode", call => Host.Shown(host.Contract(call).Tokenizer.Decode(call.Ids("ids"), call.Special)));
            host.Add("token_bytes", call => Host.Shown(host.Contract(call).Tokenizer.TokenBytes((uint)call.Integer("token"))));
            host.Add("token_id", call => new Json.Members { { "token", host.Contract(call).Tokenizer.TokenId(Utf8(call)) } });
            host.Add("stream", call => Stream(host.Contract(call), call));
        }

        private static Json.Members Ids(uint[] ids)
        {
            return new Json.Members { { "ids", ids } };
        }

        private static byte[] Utf8(Params call)
        {
            return call.Bytes ?? new System.Text.UTF8Encoding(false, false).GetBytes(call.String);
        }

        private static uint[] Encode(Tokenizer tokenizer, Params call)
        {
            byte[] bytes = call.Bytes;
            return bytes == null ? tokenizer.Encode(call.String, call.OnSpecial) : tokenizer.Encode(bytes, call.OnSpecial);
        }

        private static Json.Members EncodeSpans(Tokenizer tokenizer, Params call)
        {
            string name = call.Has("unit") ? call.Text("unit").Replace("_", "") : "bytes";
            Unit unit = (Unit)Enum.Parse(typeof(Unit), name, true);
            byte[] bytes = call.Bytes;
            TokenSpan[] spans = bytes == null
                ? tokenizer.EncodeSpans(call.String, unit, call.OnSpecial)
                : tokenizer.EncodeSpans(bytes, unit, call.OnSpecial);
            return new Json.Members { { "spans", spans.Select(span => new object[] { span.Id, span.Start, span.End }) } };
        }

        private static Json.Members EncodeInto(Tokenizer tokenizer, Params call)
        {
            uint[] memory = Enumerable.Repeat(uint.MaxValue, (int)call.Integer("room")).ToArray();
            int count = tokenizer.EncodeInto(Utf8(call), memory);
            IEnumerable<object> shown = memory.Select(id => id == uint.MaxValue ? null : (object)id);
            return new Json.Members { { "count", count }, { "out", shown } };
        }

        private static Json.Members EncodeTrusted(Tokenizer tokenizer, Params call)
        {
            byte[] bytes = call.Bytes;
            return Ids(bytes == null ? tokenizer.EncodeTrusted(call.String) : tokenizer.EncodeTrusted(bytes));
        }

        private static Json.Members Count(Tokenizer tokenizer, Params call)
        {
            byte[] bytes = call.Bytes;
            return new Json.Members { { "count", bytes == null ? tokenizer.Count(call.String) : tokenizer.Count(bytes) } };
        }

        private static Json.Members CountUntil(Tokenizer tokenizer, Params call)
        {
            byte[] bytes = call.Bytes;
            long limit = call.Integer("limit");
            return new Json.Members { { "count", bytes == null ? tokenizer.CountUntil(call.String, limit) : tokenizer.CountUntil(bytes, limit) } };
        }

        private static Json.Members Chunks(Tokenizer tokenizer, Params call)
        {
            using (ChunkEncoder chunks = tokenizer.Chunks())
            {
                List<Json.Members> calls = call.List("parts").ConvertAll(part => Host.Outcome(() =>
                {
                    uint[] ids = Pushed(chunks, part);
                    return new Json.Members { { "ids", ids }, { "pending", chunks.Pending } };
                }));
                return new Json.Members { { "calls", calls } };
            }
        }

        private static uint[] Pushed(ChunkEncoder chunks, object part)
        {
            if (part is string)
            {
                return chunks.Finish();
            }
            Params text = new Params((Json.Members)part);
            byte[] bytes = text.Bytes;
            return bytes == null ? chunks.Push(text.String) : chunks.Push(bytes);
        }

        private static Json.Members Append(Tokenizer tokenizer, Params call)
        {
            using (EncodedText text = tokenizer.EncodedText())
            {
                List<Json.Members> calls = call.List("parts").ConvertAll(part => Host.Outcome(() =>
                {
                    Params appended = new Params((Json.Members)part);
                    byte[] bytes = appended.Bytes;
                    Growth growth = bytes == null ? text.Append(appended.String) : text.Append(bytes);
                    return new Json.Members { { "keep", growth.Keep }, { "append", growth.Append } };
                }));
                return new Json.Members { { "calls", calls }, { "ids", text.Ids } };
            }
        }

        private static Json.Members FindSpecial(Tokenizer tokenizer, Params call)
        {
            byte[] bytes = call.Bytes;
            IReadOnlyList<Finding> findings = bytes == null ? tokenizer.FindSpecial(call.String) : tokenizer.FindSpecial(bytes);
            return new Json.Members { { "findings", findings.Select(Host.Found) } };
        }

        private static Json.Members Stream(Contract contract, Params call)
        {
            using (StreamDecoder decoder = contract.StreamDecoder(call.Special))
            {
                List<Json.Members> calls = call.List("calls").ConvertAll(asked =>
                {
                    Json.Members outcome = Host.Outcome(() =>
                    {
                        if (asked is string)
                        {
                            decoder.Finish();
                            return new Json.Members();
                        }
                        return new Json.Members { { "text", decoder.Push(Json.Ids(asked)) } };
                    });
                    outcome.Add("pending", Host.Hex(decoder.Pending));
                    return outcome;
                });
                return new Json.Members { { "calls", calls } };
            }
        }
    }
}
