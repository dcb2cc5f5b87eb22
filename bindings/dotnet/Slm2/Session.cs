using System;
using System.Collections.Generic;

namespace Slm2
{
    /// <summary>Ids that the model's cache loses.</summary>
    public struct Loss
    {
        internal Loss(Json.Members json)
        {
            Message = (int)(long)json["message"];
            Ids = (int)(long)json["ids"];
            Reason = (string)json["reason"];
        }

        /// <summary>Index of the message that they were of.</summary>
        public int Message { get; }

        /// <summary>How many.</summary>
        public int Ids { get; }

        /// <summary>Why.</summary>
        public string Reason { get; }
    }

    /// <summary>What to do with the model's cache.</summary>
    public sealed class Delta
    {
        internal Delta(string text)
        {
            Json.Members json = (Json.Members)Json.Read(text);
            Keep = (int)(long)json["keep"];
            Append = Json.Ids(json["append"]);
            State = (string)json["state"];
            Lost = ((List<object>)json["lost"]).ConvertAll(loss => new Loss((Json.Members)loss));
            Text = text;
        }

        /// <summary>How many ids stay.</summary>
        public int Keep { get; }

        /// <summary>What comes after them.</summary>
        public uint[] Append { get; }

        /// <summary>What is no longer there, and why.</summary>
        public IReadOnlyList<Loss> Lost { get; }

        /// <summary>The state of the template's machine; a reply goes on from there.</summary>
        public string State { get; }

        private string Text { get; }

        /// <summary>The same as every host writes it.</summary>
        public string ToJson()
        {
            return Text;
        }
    }

    /// <summary>A conversation that keeps its cache (contract/template.md). Calls of several threads wait for each other.</summary>
    public sealed unsafe class Session : IDisposable
    {
        private readonly ContractState contract;
        private readonly SessionHandle handle;
        private readonly object gate = new object();

        internal Session(ContractState contract, Profile profile, string options)
        {
            this.contract = contract;
            byte[] json = Context.Bytes(options);
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(json))
                {
                    context.Check(Native.slm2_session_new(context.Handle, contract.Handle, (uint)profile, address, (UIntPtr)json.Length, out handle));
                }
            }
        }

        internal Session(ContractState contract, byte[] checkpoint)
        {
            this.contract = contract;
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(checkpoint))
                {
                    context.Check(Native.slm2_session_restore(context.Handle, contract.Handle, address, (UIntPtr)checkpoint.Length, out handle));
                }
            }
        }

        private Session(Session other)
        {
            contract = other.contract;
            using (Context context = contract.Rent())
            {
                context.Check(Native.slm2_session_fork(context.Handle, other.handle, out handle));
            }
        }

        private delegate uint Call(Context context, out UIntPtr length);

        /// <summary>What the model's cache holds when every delta was followed.</summary>
        public uint[] CachedIds
        {
            get
            {
                lock (gate)
                {
                    using (Context context = contract.Rent())
                    {
                        UIntPtr count;
                        return context.Ids(Native.slm2_session_cached_ids(context.Handle, handle, null, UIntPtr.Zero, out count));
                    }
                }
            }
        }

        /// <summary>The conversation so far, a JSON array of messages.</summary>
        public string Messages =>
            Text((Context context, out UIntPtr length) => Native.slm2_session_messages(context.Handle, handle, null, UIntPtr.Zero, out length));

        /// <summary>Add messages and ask for a reply.</summary>
        /// <exception cref="Slm2Exception">A code of contract/template.md; nothing has changed then</exception>
        public Delta Extend(IEnumerable<Message> messages, bool? enableThinking = null)
        {
            return ExtendJson(Message.ToJson(messages), enableThinking);
        }

        /// <summary>The same with a JSON array of messages.</summary>
        public Delta ExtendJson(string messages, bool? enableThinking = null)
        {
            byte[] json = Context.Bytes(messages);
            int thinking = enableThinking.HasValue ? Convert.ToInt32(enableThinking.Value) : -1;
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (byte* address = Context.Pinned(json))
                    {
                        UIntPtr length;
                        return new Delta(context.Text(Native.slm2_session_extend(
                            context.Handle, handle, address, (UIntPtr)json.Length, thinking, null, UIntPtr.Zero, out length)));
                    }
                }
            }
        }

        /// <summary>Add the reply to the last prompt by its ids: what it says.</summary>
        /// <exception cref="Slm2Exception"><c>reply_refused</c>, <c>no_prompt</c>, <c>token_id_out_of_range</c></exception>
        public IReadOnlyList<ReplyEvent> Reply(uint[] ids)
        {
            return ReplyEvent.Read(ReplyToJson(ids));
        }

        /// <summary>As <see cref="Reply"/>, as every host writes it.</summary>
        public string ReplyToJson(uint[] ids)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    fixed (uint* address = ids)
                    {
                        UIntPtr length;
                        return context.Text(Native.slm2_session_reply(context.Handle, handle, address, (UIntPtr)ids.Length, null, UIntPtr.Zero, out length));
                    }
                }
            }
        }

        /// <summary>The prompt up to the last turn as it is once a user turn follows; nothing changes.</summary>
        public Delta Settled()
        {
            return new Delta(Text((Context context, out UIntPtr length) =>
                Native.slm2_session_settled(context.Handle, handle, null, UIntPtr.Zero, out length)));
        }

        /// <summary>The same, and the cache holds it from now on.</summary>
        public Delta Settle()
        {
            return new Delta(Text((Context context, out UIntPtr length) =>
                Native.slm2_session_settle(context.Handle, handle, null, UIntPtr.Zero, out length)));
        }

        /// <summary>Another one that goes on from here.</summary>
        public Session Fork()
        {
            lock (gate)
            {
                return new Session(this);
            }
        }

        /// <summary>A checkpoint, for <see cref="Contract.RestoreSession"/>.</summary>
        public byte[] Save()
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr length;
                    return context.Result(Native.slm2_session_save(context.Handle, handle, null, UIntPtr.Zero, out length));
                }
            }
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }

        private string Text(Call call)
        {
            lock (gate)
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr length;
                    return context.Text(call(context, out length));
                }
            }
        }
    }
}
