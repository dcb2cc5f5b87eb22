using System.Collections.Generic;
using System.Linq;
using System.Text;

namespace Slm2.Tests
{
    /// <summary>Templates, replies, sessions, prompts.</summary>
    internal static class ChatTests
    {
        private static readonly Contract Contract = Contract.Load();
        private static readonly Message[] Hi = { new Message("user", "Hi") };
        private static readonly uint[] Rendered = { 151644, 872, 198, 13048, 151645, 198, 151644, 77091, 198 };

        public static void AConversationIsRendered()
        {
            using (Rendering rendering = Contract.Template.Render(Hi, new RenderOptions { AddGenerationPrompt = true }))
            {
                Check.Same(Rendered, rendering.InputIds);
                Check.Same("untrusted", rendering.Tokens[3].Trust);
                Check.Same("messages[0].content", rendering.Tokens[3].Ranges[0].Source);
                Check.Same((int?)null, rendering.Tokens[8].Message);
                Check.Same(0, rendering.Findings.Count);
                Check.Same(0, rendering.DroppedReasoning.Count);
            }
        }

        public static void MessagesGoInAsTheyAre()
        {
            ToolCall call = new ToolCall("weather", "{\"place\":  \"Bern\"}");
            Message[] chat =
            {
                new Message("user", "A \"quoted\" \\ line\nand \u0001"),
                new Message("assistant", "") { ReasoningContent = "Hm.", ToolCalls = new[] { call } },
                new Message("tool", "rain"),
            };
            RenderOptions options = new RenderOptions { Tools = new[] { "{\"type\": \"function\", \"function\": {\"name\": \"weather\"}}" } };
            using (Rendering rendering = Contract.Template.Render(chat, options))
            {
                Check.True(rendering.Text.Contains("A \"quoted\" \\ line\nand \u0001<|im_end|>"), "text stays as it is");
                Check.True(rendering.Text.Contains("{\"place\":  \"Bern\"}"), "arguments stay as they are written");
            }
        }

        public static void RefusalsNameTheirPlace()
        {
            Slm2Exception refusal = Check.Refused(ErrorCodes.UnknownRole, () => Contract.Template.Render(new[] { new Message("robot", "") }));
            Check.Same(0L, refusal.Fields["index"]);
            Check.Same("robot", refusal.Fields["found"]);
            Check.Refused(ErrorCodes.JsonDuplicateKey, () => Contract.Template.RenderRequest("{\"messages\": [], \"messages\": []}"));
            Message marked = new Message("user", "<think>");
            refusal = Check.Refused(ErrorCodes.SpecialTokenInText, () => Contract.Template.Render(new[] { marked }, null, OnSpecial.Reject));
            Check.Same("messages[0].content", ((List<Finding>)refusal.Fields["findings"]).Single().Source);
        }

        public static void AReplyIsRead()
        {
            using (Rendering rendering = Contract.Template.Render(Hi, new RenderOptions { AddGenerationPrompt = true }))
            using (ReplyParser reply = Contract.ReplyParser(rendering.State))
            {
                uint[] ids = Contract.Tokenizer.EncodeTrusted("<think>\nHm.\n</think>\n\nHello!<|im_end|>");
                List<ReplyEvent> events = ids.SelectMany(reply.Push).ToList();
                Check.Same("Hm.", string.Concat(events.Where(said => said.Kind == "reasoning").Select(said => said.Text)));
                Check.Same("Hello!", string.Concat(events.Where(said => said.Kind == "content").Select(said => said.Text)));
                Check.Same("end_turn", events.Last().Reason);
                Check.Same("{\"role\": \"assistant\", \"content\": \"Hello!\", \"reasoning_content\": \"Hm.\"}", reply.Message);
            }
            Check.Refused(ErrorCodes.InvalidValue, () => Contract.ReplyParser("nowhere"));
        }

        public static void ASessionKeepsItsCache()
        {
            uint[] ids = Contract.Tokenizer.EncodeTrusted("<think>\nHm.\n</think>\n\nHello!<|im_end|>");
            using (Session session = Contract.Session())
            {
                Check.Same(Rendered, session.Extend(Hi).Append);
                Check.Same("end", session.Reply(ids).Last().Kind);
                byte[] checkpoint = session.Save();
                Delta delta = session.Extend(new[] { new Message("user", "Bye") });
                Check.Same(9, delta.Keep);
                Check.Same("reasoning", delta.Lost.Single().Reason);
                using (Session restored = Contract.RestoreSession(checkpoint))
                using (Session fork = restored.Fork())
                {
                    Check.Same(delta.Append, restored.Extend(new[] { new Message("user", "Bye") }).Append);
                    Check.Same(Rendered.Length + ids.Length, fork.CachedIds.Length);
                    Check.Same(fork.Settled().Append, fork.Settle().Append);
                    Check.True(fork.Messages.Contains("Hello!"), "the reply is in the conversation");
                }
                Check.Refused(ErrorCodes.CheckpointRefused, () => Contract.RestoreSession(Encoding.UTF8.GetBytes("{}")));
                Check.Refused(ErrorCodes.UnknownRole, () => session.Extend(new[] { new Message("robot", "") }));
            }
        }

        public static void APromptIsAssembled()
        {
            const string Request = "{\"policy\": \"Be brief.\", \"user_turn\": \"Hi\", \"budget\": {\"context\": 512, \"reserve\": 64}}";
            using (Assembly assembly = Contract.Prompt.Assemble(Request))
            {
                uint[] ids = assembly.InputIds;
                Check.Same(ids, assembly.Tokens.Select(token => token.Id));
                PromptDelta delta = assembly.Delta(ids.Take(5).ToArray());
                Check.Same(5, delta.Keep);
                Check.Same(ids.Skip(5), delta.Append);
                Check.True(assembly.ToJson().Contains("\"input_ids\""), "all of it is there");
                Check.True(!assembly.ReportToJson().Contains("\"input_ids\""), "the report is the rest");
            }
            Slm2Exception refusal = Check.Refused(ErrorCodes.BudgetExceeded, () => Contract.Prompt.Assemble(Request.Replace("512", "68")));
            Check.True(refusal.Fields.ContainsKey("needed"), "it says how much is needed");
        }
    }
}
