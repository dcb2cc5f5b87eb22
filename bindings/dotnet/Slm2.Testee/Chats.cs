using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;

namespace Slm2.Testee
{
    /// <summary>Template2, replies and sessions.</summary>
    internal static class Chats
    {
        internal static void Add(Host host)
        {
            host.Add("render", call => Render(host.Contract(call).Template, call));
            host.Add("render_tokens", call => RenderTokens(host.Contract(call).Template, call));
            host.Add("reply", call => Reply(host.Contract(call), call));
            host.Add("assemble", call => Assemble(host.Contract(call).Prompt, call));
            host.Add("assemble_tokens", call => AssembleTokens(host.Contract(call).Prompt, call));
            host.Add("prompt_delta", call => PromptDelta(host.Contract(call).Prompt, call));
            host.Add("session", call => Session(host.Contract(call), call));
        }

        private static Json.Members Render(Template template, Params call)
        {
            using (Rendering rendering = template.RenderRequest(call.Text("request"), call.OnSpecial))
            {
                return new Json.Members
                {
                    { "input_ids", rendering.InputIds },
                    { "text", rendering.Text },
                    { "findings", rendering.Findings.Select(Host.Found) },
                    { "dropped_reasoning", rendering.DroppedReasoning },
                };
            }
        }

        private static Json.Members RenderTokens(Template template, Params call)
        {
            using (Rendering rendering = template.RenderRequest(call.Text("request"), call.OnSpecial))
            {
                return new Json.Members { { "tokens", rendering.Tokens.Select(Row) } };
            }
        }

        internal static object Row(Token token)
        {
            IEnumerable<object[]> ranges = token.Ranges.Select(range => new object[] { range.Source, range.Start, range.End });
            return new object[] { token.Id, token.Role, token.Part, token.Trust, token.Message, ranges };
        }

        private static Json.Members Reply(Contract contract, Params call)
        {
            using (ReplyParser reply = contract.ReplyParser(call.Text("state")))
            {
                List<Json.Members> calls = call.List("calls").ConvertAll(asked =>
                {
                    Json.Members outcome = Host.Outcome(() => Events(asked is string ? reply.Finish() : reply.Push(Json.Ids(asked))));
                    outcome.Add("state", reply.State);
                    return outcome;
                });
                return new Json.Members { { "calls", calls } };
            }
        }

        /// <summary>Events, each without what is empty.</summary>
        private static Json.Members Events(IReadOnlyList<ReplyEvent> events)
        {
            List<Json.Members> list = new List<Json.Members>();
            foreach (ReplyEvent said in events)
            {
                Json.Members members = new Json.Members { { "kind", said.Kind } };
                AddText(members, "text", said.Text);
                if (said.Ids.Length > 0)
                {
                    members.Add("ids", said.Ids);
                }
                AddText(members, "name", said.Name);
                AddText(members, "arguments", said.Arguments);
                AddText(members, "reason", said.Reason);
                list.Add(members);
            }
            return new Json.Members { { "events", list } };
        }

        private static void AddText(Json.Members members, string name, string text)
        {
            if (text.Length > 0)
            {
                members.Add(name, text);
            }
        }

        /// <summary>The report, with the ids in front.</summary>
        private static Json.Members Assemble(Prompt prompt, Params call)
        {
            using (Assembly assembly = prompt.Assemble(call.Text("request"), call.OnSpecial))
            {
                Json.Members report = (Json.Members)Json.Read(assembly.ReportToJson());
                report.Insert(0, new KeyValuePair<string, object>("input_ids", assembly.InputIds));
                return report;
            }
        }

        private static Json.Members AssembleTokens(Prompt prompt, Params call)
        {
            using (Assembly assembly = prompt.Assemble(call.Text("request"), call.OnSpecial))
            {
                return new Json.Members { { "tokens", assembly.Tokens.Select(Row) } };
            }
        }

        /// <summary>What changes from the prompt of one request to that of another; from nothing where <c>before</c> is null.</summary>
        private static Json.Members PromptDelta(Prompt prompt, Params call)
        {
            uint[] cached = new uint[0];
            if (call.Value("before") != null)
            {
                using (Assembly before = prompt.Assemble(call.Text("before"), call.OnSpecial))
                {
                    cached = before.InputIds;
                }
            }
            using (Assembly assembly = prompt.Assemble(call.Text("request"), call.OnSpecial))
            {
                return (Json.Members)Json.Read(assembly.Delta(cached).ToJson());
            }
        }

        /// <summary>Step by step; a refused one changes nothing.</summary>
        private static Json.Members Session(Contract contract, Params call)
        {
            Session session = contract.SessionOf(call.Text("options"));
            List<Json.Members> steps = call.List("steps").ConvertAll(step => Host.Outcome(() => Step(contract, ref session, step)));
            session.Dispose();
            return new Json.Members { { "steps", steps } };
        }

        private static Json.Members Step(Contract contract, ref Session session, object asked)
        {
            switch (asked as string)
            {
                case "settle":
                    return Told(session.Settle());
                case "settled":
                    return Told(session.Settled());
                case "save":
                    return new Json.Members { { "checkpoint", Encoding.UTF8.GetString(session.Save()) } };
            }
            Params step = new Params((Json.Members)asked);
            if (step.Has("restore"))
            {
                Session restored = contract.RestoreSession(Encoding.UTF8.GetBytes(step.Text("restore")));
                session.Dispose();
                session = restored;
                return new Json.Members { { "cached", session.CachedIds.Length } };
            }
            if (step.Has("reply"))
            {
                return Events(session.Reply(step.Ids("reply")));
            }
            bool? thinking = step.Has("enable_thinking") ? (bool?)step.Value("enable_thinking") : null;
            return Told(session.ExtendJson(step.Text("extend"), thinking));
        }

        private static Json.Members Told(Delta delta)
        {
            return new Json.Members
            {
                { "keep", delta.Keep },
                { "append", delta.Append },
                { "lost", delta.Lost.Select(loss => new object[] { loss.Message, loss.Ids, loss.Reason }) },
                { "state", delta.State },
            };
        }
    }
}
