using System;
using System.Collections.Generic;

namespace Slm2
{
    /// <summary>A call of a tool in a message of the assistant.</summary>
    public sealed class ToolCall
    {
        /// <summary>Make one.</summary>
        /// <param name="name">Of the tool.</param>
        /// <param name="arguments">The text of a JSON object; it goes into the prompt as it is written.</param>
        public ToolCall(string name, string arguments)
        {
            Name = name;
            Arguments = arguments;
        }

        /// <summary>Of the tool.</summary>
        public string Name { get; }

        /// <summary>The text of a JSON object.</summary>
        public string Arguments { get; }

        internal Json.Members ToJson()
        {
            Json.Members function = new Json.Members { { "name", Name }, { "arguments", Arguments } };
            return new Json.Members { { "type", "function" }, { "function", function } };
        }
    }

    /// <summary>A message of a conversation. What is null is not said.</summary>
    public sealed class Message
    {
        /// <summary>Make one.</summary>
        public Message(string role, string content)
        {
            Role = role;
            Content = content;
        }

        /// <summary>system, user, assistant or tool.</summary>
        public string Role { get; }

        /// <summary>What it says.</summary>
        public string Content { get; }

        /// <summary>Of the assistant: its reasoning, without marks.</summary>
        public string ReasoningContent { get; set; }

        /// <summary>Of the assistant: its calls.</summary>
        public IReadOnlyList<ToolCall> ToolCalls { get; set; }

        internal Json.Members ToJson()
        {
            Json.Members members = new Json.Members { { "role", Role }, { "content", Content } };
            if (ReasoningContent != null)
            {
                members.Add("reasoning_content", ReasoningContent);
            }
            if (ToolCalls != null)
            {
                List<object> calls = new List<object>();
                foreach (ToolCall call in ToolCalls)
                {
                    calls.Add(call.ToJson());
                }
                members.Add("tool_calls", calls);
            }
            return members;
        }

        internal static string ToJson(IEnumerable<Message> messages)
        {
            List<object> list = new List<object>();
            foreach (Message message in messages)
            {
                list.Add(message.ToJson());
            }
            return Json.Write(list);
        }
    }

    /// <summary>What a rendering is asked for beside the messages. What is not set is the template's own choice, or off.</summary>
    public sealed class RenderOptions
    {
        /// <summary>JSON schemas of the tools, each as JSON text.</summary>
        public IReadOnlyList<string> Tools { get; set; }

        /// <summary>False closes the reasoning in the generation prompt; true and null leave it to the model.</summary>
        public bool? EnableThinking { get; set; }

        /// <summary>Whether the prompt ends with the head of an assistant turn.</summary>
        public bool AddGenerationPrompt { get; set; }

        /// <summary><c>content</c> or <c>reasoning_content</c> ends the prompt inside that field of the last message.</summary>
        public string ContinueFinalMessage { get; set; }

        /// <summary>Keep the reasoning of every assistant turn (M-58).</summary>
        public bool PreserveThinking { get; set; }

        internal static List<object> Schemas(IReadOnlyList<string> tools)
        {
            List<object> schemas = new List<object>();
            foreach (string tool in tools)
            {
                schemas.Add(new Json.RawJson(tool));
            }
            return schemas;
        }

        internal string Request(IEnumerable<Message> messages)
        {
            Json.Members request = new Json.Members { { "messages", new Json.RawJson(Message.ToJson(messages)) } };
            if (Tools != null)
            {
                request.Add("tools", Schemas(Tools));
            }
            if (EnableThinking.HasValue)
            {
                request.Add("enable_thinking", EnableThinking.Value);
            }
            request.Add("add_generation_prompt", AddGenerationPrompt);
            if (ContinueFinalMessage != null)
            {
                request.Add("continue_final_message", ContinueFinalMessage);
            }
            request.Add("preserve_thinking", PreserveThinking);
            return Json.Write(request);
        }
    }

    /// <summary>Bytes of a field that a token touches.</summary>
    public struct SourceRange
    {
        internal SourceRange(string source, long start, long end)
        {
            Source = source;
            Start = start;
            End = end;
        }

        /// <summary>The field of the request, or <c>program</c>.</summary>
        public string Source { get; }

        /// <summary>Where the range begins, in bytes of the field's UTF-8.</summary>
        public long Start { get; }

        /// <summary>Where it ends.</summary>
        public long End { get; }
    }

    /// <summary>One id of a prompt and where it came from (M-62).</summary>
    public sealed class Token
    {
        internal Token(List<object> row)
        {
            Id = (uint)(long)row[0];
            Role = (string)row[1];
            Part = (string)row[2];
            Trust = (string)row[3];
            Message = row[4] == null ? (int?)null : (int)(long)row[4];
            List<SourceRange> ranges = new List<SourceRange>();
            foreach (object range in (List<object>)row[5])
            {
                List<object> triple = (List<object>)range;
                ranges.Add(new SourceRange((string)triple[0], (long)triple[1], (long)triple[2]));
            }
            Ranges = ranges;
        }

        /// <summary>The id.</summary>
        public uint Id { get; }

        /// <summary>Of the message that brought it.</summary>
        public string Role { get; }

        /// <summary>Which part of the message.</summary>
        public string Part { get; }

        /// <summary>The lowest class among the pieces that it touches.</summary>
        public string Trust { get; }

        /// <summary>Index of the message; null where no message brought it.</summary>
        public int? Message { get; }

        /// <summary>What it touches; empty for structural tokens.</summary>
        public IReadOnlyList<SourceRange> Ranges { get; }

        internal static List<Token> Read(string json)
        {
            List<Token> tokens = new List<Token>();
            foreach (object row in (List<object>)Json.Read(json))
            {
                tokens.Add(new Token((List<object>)row));
            }
            return tokens;
        }
    }

    /// <summary>The artifact's chat template, under one profile (contract/template.md).</summary>
    public sealed unsafe class Template
    {
        private readonly ContractState contract;
        private readonly Profile profile;

        internal Template(ContractState contract, Profile profile)
        {
            this.contract = contract;
            this.profile = profile;
        }

        /// <summary>Render a conversation.</summary>
        /// <exception cref="Slm2Exception">A code of contract/template.md; <c>special_token_in_text</c></exception>
        public Rendering Render(IEnumerable<Message> messages, RenderOptions options = null, OnSpecial onSpecial = OnSpecial.Literal)
        {
            return RenderRequest((options ?? new RenderOptions()).Request(messages), onSpecial);
        }

        /// <summary>Render a request in JSON: an object with <c>messages</c>, and what else contract/template.md has.</summary>
        /// <exception cref="Slm2Exception">As <see cref="Render"/>; <c>json_…</c></exception>
        public Rendering RenderRequest(string request, OnSpecial onSpecial = OnSpecial.Literal)
        {
            byte[] utf8 = Context.Bytes(request);
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    RenderingHandle handle;
                    context.Check(Native.slm2_render(
                        context.Handle, contract.Handle, (uint)profile, (uint)onSpecial, address, (UIntPtr)utf8.Length, out handle));
                    return new Rendering(contract, handle);
                }
            }
        }
    }

    /// <summary>A prompt. What nobody asks for is not computed.</summary>
    public sealed unsafe class Rendering : IDisposable
    {
        private readonly ContractState contract;
        private readonly RenderingHandle handle;
        private readonly Lazy<Json.Members> report;

        internal Rendering(ContractState contract, RenderingHandle handle)
        {
            this.contract = contract;
            this.handle = handle;
            report = new Lazy<Json.Members>(() => (Json.Members)Json.Read(ToJson()));
        }

        /// <summary>Its ids.</summary>
        public uint[] InputIds
        {
            get
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr count;
                    return context.Ids(Native.slm2_rendering_ids(context.Handle, handle, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>For each id where it came from.</summary>
        public IReadOnlyList<Token> Tokens => Token.Read(TokensToJson());

        /// <summary>The prompt as text, structural tokens included; for people, never to be encoded again.</summary>
        public string Text => (string)report.Value["text"];

        /// <summary>Text of special tokens in fields of callers; it was encoded as plain text.</summary>
        public IReadOnlyList<Finding> Findings => ((List<object>)report.Value["findings"]).ConvertAll(Finding.Of);

        /// <summary>Indices of the messages whose reasoning is not in the prompt.</summary>
        public IReadOnlyList<int> DroppedReasoning => ((List<object>)report.Value["dropped_reasoning"]).ConvertAll(index => (int)(long)index);

        /// <summary>The state of the template's machine; a reply goes on from there.</summary>
        public string State => (string)report.Value["state"];

        /// <summary>All of it but the tokens, as every host writes it.</summary>
        public string ToJson()
        {
            using (Context context = contract.Rent())
            {
                UIntPtr length;
                return context.Text(Native.slm2_rendering_json(context.Handle, handle, null, UIntPtr.Zero, out length));
            }
        }

        /// <summary>The tokens, as every host writes them.</summary>
        public string TokensToJson()
        {
            using (Context context = contract.Rent())
            {
                UIntPtr length;
                return context.Text(Native.slm2_rendering_tokens(context.Handle, handle, null, UIntPtr.Zero, out length));
            }
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
