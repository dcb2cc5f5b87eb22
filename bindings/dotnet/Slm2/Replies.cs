using System;
using System.Collections.Generic;

namespace Slm2
{
    /// <summary>Something that a reply says (M-91).</summary>
    public sealed class ReplyEvent
    {
        private ReplyEvent(Json.Members json)
        {
            Kind = (string)json["kind"];
            Text = (string)json["text"] ?? "";
            Ids = json["ids"] == null ? new uint[0] : Json.Ids(json["ids"]);
            Name = (string)json["name"] ?? "";
            Arguments = (string)json["arguments"] ?? "";
            Reason = (string)json["reason"] ?? "";
        }

        /// <summary>reasoning, content, call, bad_call, stray_text, unexpected, unclosed, ill_formed or end.</summary>
        public string Kind { get; }

        /// <summary>Text that came; of ill-formed text the bytes in hex.</summary>
        public string Text { get; }

        /// <summary>Ids taken since the event before.</summary>
        public uint[] Ids { get; }

        /// <summary>Of a call.</summary>
        public string Name { get; }

        /// <summary>Of a call: the text of a JSON object.</summary>
        public string Arguments { get; }

        /// <summary>Of a fault its code; of the end <c>end_turn</c> or <c>cut</c>; of an unexpected token the state.</summary>
        public string Reason { get; }

        internal static IReadOnlyList<ReplyEvent> Read(string json)
        {
            List<ReplyEvent> events = new List<ReplyEvent>();
            foreach (object value in (List<object>)Json.Read(json))
            {
                events.Add(new ReplyEvent((Json.Members)value));
            }
            return events;
        }
    }

    /// <summary>Reads one reply as the model writes it (contract/template.md, M-90). Calls of several threads wait for each other.</summary>
    public sealed unsafe class ReplyParser : IDisposable
    {
        private readonly ContractState contract;
        private readonly ReplyHandle handle;
        private readonly object gate = new object();

        internal ReplyParser(ContractState contract, string state)
        {
            this.contract = contract;
            byte[] name = Context.Bytes(state);
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(name))
                {
                    context.Check(Native.slm2_reply_new(context.Handle, contract.Handle, address, (UIntPtr)name.Length, out handle));
                }
            }
        }

        /// <summary>The state of the template's machine.</summary>
        public string State
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        UIntPtr length;
                        return context.Text(Native.slm2_reply_state(context.Handle, handle, null, UIntPtr.Zero, out length));
                    }
                }
            }
        }

        /// <summary>What was said so far as a message, in JSON; calls that are none are not in it.</summary>
        public string Message
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        UIntPtr length;
                        return context.Text(Native.slm2_reply_message(context.Handle, handle, null, UIntPtr.Zero, out length));
                    }
                }
            }
        }

        /// <summary>What one id says.</summary>
        public IReadOnlyList<ReplyEvent> Push(uint id)
        {
            return Push(new[] { id });
        }

        /// <summary>What ids say.</summary>
        /// <exception cref="Slm2Exception"><c>token_id_out_of_range</c> (nothing of this call was taken), <c>stream_closed</c></exception>
        public IReadOnlyList<ReplyEvent> Push(uint[] ids)
        {
            return ReplyEvent.Read(PushToJson(ids));
        }

        /// <summary>The end, where no token ended the turn: what is open is told, then <c>end</c> with the reason <c>cut</c>.</summary>
        /// <exception cref="Slm2Exception"><c>stream_closed</c></exception>
        public IReadOnlyList<ReplyEvent> Finish()
        {
            return ReplyEvent.Read(FinishToJson());
        }

        /// <summary>As <see cref="Push(uint[])"/>, as every host writes it.</summary>
        public string PushToJson(uint[] ids)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (uint* address = ids)
                    {
                        UIntPtr length;
                        return context.Text(Native.slm2_reply_push(context.Handle, handle, address, (UIntPtr)ids.Length, null, UIntPtr.Zero, out length));
                    }
                }
            }
        }

        /// <summary>As <see cref="Finish"/>, as every host writes it.</summary>
        public string FinishToJson()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr length;
                    return context.Text(Native.slm2_reply_finish(context.Handle, handle, null, UIntPtr.Zero, out length));
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
