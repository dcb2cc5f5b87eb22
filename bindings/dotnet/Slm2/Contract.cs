using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Reflection;

namespace Slm2
{
    /// <summary>Which of two named behaviours, never an ambient default (contract/README.md).</summary>
    public enum Profile
    {
        /// <summary>The contract, to the letter.</summary>
        Contract = 0,

        /// <summary>Bit for bit what the publisher's pipeline does.</summary>
        Publisher = 1,
    }

    /// <summary>What becomes of the text of a special token in a text.</summary>
    public enum OnSpecial
    {
        /// <summary>It is encoded as the plain text that it is.</summary>
        Literal = 0,

        /// <summary>It is refused (<c>special_token_in_text</c>).</summary>
        Reject = 1,
    }

    /// <summary>What becomes of ids of special tokens.</summary>
    public enum SpecialPolicy
    {
        /// <summary>They are refused (<c>structural_id</c>).</summary>
        Refuse = 0,

        /// <summary>They stand for nothing.</summary>
        Skip = 1,

        /// <summary>They stand for their text.</summary>
        Bytes = 2,
    }

    /// <summary>An opened artifact under one profile: immutable, for any number of threads.</summary>
    /// <remarks>What is made with it goes on after it was disposed of.</remarks>
    public sealed class Contract : IDisposable
    {
        private const string Embedded = "Slm2.qwen3-0.6b.slm2";
        private readonly ContractState state;
        private readonly Json.Members info;

        private Contract(byte[] artifact, Profile profile, ulong? maxPretoken)
        {
            state = new ContractState(artifact, maxPretoken);
            Profile = profile;
            info = (Json.Members)Json.Read(state.Info());
            Tokenizer = new Tokenizer(state, profile);
            Template = new Template(state, profile);
            Prompt = new Prompt(state, profile);
        }

        /// <summary>Under which profile.</summary>
        public Profile Profile { get; }

        /// <summary>Text to ids and back.</summary>
        public Tokenizer Tokenizer { get; }

        /// <summary>Conversations to ids.</summary>
        public Template Template { get; }

        /// <summary>Requests to prompts that fit.</summary>
        public Prompt Prompt { get; }

        /// <summary>Of the contract that the artifact was sealed for.</summary>
        public int ContractVersion => (int)(long)info["contract_version"];

        /// <summary>Number of plain tokens; special tokens have higher ids.</summary>
        public int VocabularySize => (int)(long)info["vocabulary_size"];

        /// <summary>The lowest id above which no id has a token.</summary>
        public int TokenLimit => (int)(long)info["token_limit"];

        /// <summary>SHA-256 of the file, hex.</summary>
        public string FileDigest => (string)info["file_digest"];

        /// <summary>SHA-256 of the behaviour, hex.</summary>
        public string SemanticDigest => (string)info["semantic_digest"];

        /// <summary>Text of each special token to its id.</summary>
        public IReadOnlyDictionary<string, uint> SpecialTokens
        {
            get
            {
                Dictionary<string, uint> tokens = new Dictionary<string, uint>();
                foreach (object token in (List<object>)info["special_tokens"])
                {
                    List<object> pair = (List<object>)token;
                    tokens[(string)pair[1]] = (uint)(long)pair[0];
                }
                return tokens;
            }
        }

        /// <summary>What the compiler recorded of its sources.</summary>
        public IReadOnlyDictionary<string, string> Provenance
        {
            get
            {
                Dictionary<string, string> lines = new Dictionary<string, string>();
                foreach (KeyValuePair<string, object> line in (Json.Members)info["provenance"])
                {
                    lines[line.Key] = (string)line.Value;
                }
                return lines;
            }
        }

        /// <summary>The template program as the artifact holds it (contract/artifact.md); empty where it has none.</summary>
        public byte[] TemplateSection => state.TemplateSection();

        /// <summary>Open the artifact inside this library.</summary>
        /// <param name="profile">Under which profile.</param>
        /// <param name="maxPretoken">The longest piece of text in bytes that is encoded (T-13); null for 2^27.</param>
        /// <exception cref="Slm2Exception"><c>limit_out_of_range</c></exception>
        public static Contract Load(Profile profile = Profile.Contract, ulong? maxPretoken = null)
        {
            using (Stream stream = typeof(Contract).GetTypeInfo().Assembly.GetManifestResourceStream(Embedded))
            using (MemoryStream bytes = new MemoryStream())
            {
                stream.CopyTo(bytes);
                return new Contract(bytes.ToArray(), profile, maxPretoken);
            }
        }

        /// <summary>Open an artifact: the first rule of contract/artifact.md that it breaks is the refusal.</summary>
        /// <param name="artifact">All of the file.</param>
        /// <param name="profile">Under which profile.</param>
        /// <param name="maxPretoken">As in <see cref="Load"/>.</param>
        /// <exception cref="Slm2Exception"><c>artifact_…</c>, <c>limit_out_of_range</c></exception>
        public static Contract Open(byte[] artifact, Profile profile = Profile.Contract, ulong? maxPretoken = null)
        {
            if (artifact == null)
            {
                throw new ArgumentNullException(nameof(artifact));
            }
            return new Contract(artifact, profile, maxPretoken);
        }

        /// <summary>A strict streaming decoder at the beginning of a stream.</summary>
        public StreamDecoder StreamDecoder(SpecialPolicy special)
        {
            return new StreamDecoder(state, special);
        }

        /// <summary>A parser of the reply to a prompt that ended in a state (<see cref="Rendering.State"/>).</summary>
        /// <exception cref="Slm2Exception"><c>invalid_value</c>, <c>no_template</c></exception>
        public ReplyParser ReplyParser(string state)
        {
            return new ReplyParser(this.state, state);
        }

        /// <summary>A sampler at the beginning of its stream.</summary>
        /// <param name="config">All that decides beside logits and history.</param>
        /// <param name="prompt">Ids that the model has seen; penalties count them.</param>
        /// <param name="width">Logits of a row: 151,936 but in tests.</param>
        /// <exception cref="Slm2Exception">A refusal of the configuration, <c>token_id_out_of_range</c></exception>
        public Sampler Sampler(SamplingConfig config, uint[] prompt, int width = SamplingConfig.Width)
        {
            return new Sampler(state, config, prompt, width);
        }

        /// <summary>A generation at its beginning.</summary>
        /// <param name="config">All that decides beside logits and history, and what ends it.</param>
        /// <param name="prompt">Ids that the model has seen.</param>
        /// <param name="special">What becomes of ids of special tokens that do not stop it.</param>
        /// <param name="width">Logits of a row.</param>
        /// <exception cref="Slm2Exception">As <see cref="Sampler"/></exception>
        public Generation Generation(SamplingConfig config, uint[] prompt, SpecialPolicy special, int width = SamplingConfig.Width)
        {
            return new Generation(state, config, prompt, special, width);
        }

        /// <summary>A session without a message.</summary>
        /// <param name="tools">JSON schemas of the tools, each as JSON text.</param>
        /// <param name="enableThinking">As in <see cref="RenderOptions"/>.</param>
        /// <param name="preserveThinking">As in <see cref="RenderOptions"/>: the cache is never cut then.</param>
        /// <exception cref="Slm2Exception">A code of contract/template.md</exception>
        public Session Session(IReadOnlyList<string> tools = null, bool? enableThinking = null, bool preserveThinking = false)
        {
            Json.Members options = new Json.Members();
            if (tools != null)
            {
                options.Add("tools", RenderOptions.Schemas(tools));
            }
            if (enableThinking.HasValue)
            {
                options.Add("enable_thinking", enableThinking.Value);
            }
            options.Add("preserve_thinking", preserveThinking);
            return SessionOf(Json.Write(options));
        }

        /// <summary>A session of options in JSON: an object of <c>tools</c>, <c>enable_thinking</c>, <c>preserve_thinking</c>.</summary>
        /// <exception cref="Slm2Exception">A code of contract/template.md; <c>json_…</c></exception>
        public Session SessionOf(string options)
        {
            return new Session(state, Profile, options);
        }

        /// <summary>The session of a checkpoint.</summary>
        /// <exception cref="Slm2Exception"><c>checkpoint_refused</c>, <c>json_…</c></exception>
        public Session RestoreSession(byte[] checkpoint)
        {
            return new Session(state, checkpoint);
        }

        /// <summary>A generator of JSON: <c>rng</c>, <c>seed</c> and, where it is not 0, <c>stream</c>.</summary>
        /// <exception cref="Slm2Exception"><c>invalid_type</c>, <c>invalid_value</c></exception>
        public RandomGenerator RandomGenerator(string seed)
        {
            return new RandomGenerator(state, seed);
        }

        /// <summary>What the tests of every host call.</summary>
        internal Conformance Conformance()
        {
            return new Conformance(state);
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            state.Dispose();
        }
    }

    /// <summary>The opened artifact and the contexts of those who work with it.</summary>
    internal sealed unsafe class ContractState : IDisposable
    {
        private readonly ConcurrentBag<Context> free = new ConcurrentBag<Context>();
        private readonly ulong? maxPretoken;
        private volatile bool disposed;

        internal ContractState(byte[] artifact, ulong? maxPretoken)
        {
            uint version = Native.slm2_abi_version();
            if (version != Native.AbiVersion)
            {
                throw new InvalidOperationException("slm2_capi has ABI version " + version + ", this library needs " + Native.AbiVersion);
            }
            this.maxPretoken = maxPretoken;
            ContractHandle handle;
            using (Context context = Rent())
            {
                fixed (byte* bytes = Context.Pinned(artifact))
                {
                    context.Check(Native.slm2_contract_open(context.Handle, bytes, (UIntPtr)artifact.Length, out handle));
                }
            }
            Handle = handle;
        }

        internal ContractHandle Handle { get; }

        public void Dispose()
        {
            disposed = true;
            Handle.Dispose();
            Context context;
            while (free.TryTake(out context))
            {
                context.Handle.Dispose();
            }
        }

        /// <summary>A context that nobody else has; <c>Dispose</c> gives it back.</summary>
        internal Context Rent()
        {
            Context context;
            if (free.TryTake(out context))
            {
                return context;
            }
            context = new Context(this);
            if (maxPretoken.HasValue)
            {
                context.Check(Native.slm2_context_set_max_pretoken(context.Handle, maxPretoken.Value));
            }
            return context;
        }

        internal void Return(Context context)
        {
            if (disposed)
            {
                context.Handle.Dispose();
            }
            else
            {
                free.Add(context);
            }
        }

        internal string Info()
        {
            using (Context context = Rent())
            {
                UIntPtr length;
                return context.Text(Native.slm2_contract_info(context.Handle, Handle, null, UIntPtr.Zero, out length));
            }
        }

        internal byte[] TemplateSection()
        {
            using (Context context = Rent())
            {
                UIntPtr length;
                return context.Result(Native.slm2_contract_template_section(context.Handle, Handle, null, UIntPtr.Zero, out length));
            }
        }
    }
}
