using System;
using System.Collections.Generic;

namespace Slm2
{
    /// <summary>Requests to prompts that fit, under one profile (contract/prompt.md).</summary>
    public sealed unsafe class Prompt
    {
        private readonly ContractState contract;
        private readonly Profile profile;

        internal Prompt(ContractState contract, Profile profile)
        {
            this.contract = contract;
            this.profile = profile;
        }

        /// <summary>Assemble a request in JSON: an object of contract/prompt.md.</summary>
        /// <exception cref="Slm2Exception">A code of that page; <c>json_…</c></exception>
        public Assembly Assemble(string request, OnSpecial onSpecial = OnSpecial.Literal)
        {
            byte[] utf8 = Context.Bytes(request);
            using (Context context = contract.Rent())
            {
                fixed (byte* address = Context.Pinned(utf8))
                {
                    AssemblyHandle handle;
                    context.Check(Native.slm2_assemble(
                        context.Handle, contract.Handle, (uint)profile, (uint)onSpecial, address, (UIntPtr)utf8.Length, out handle));
                    return new Assembly(contract, handle);
                }
            }
        }
    }

    /// <summary>What to do with a model's cache so that it holds an assembled prompt.</summary>
    public sealed class PromptDelta
    {
        private readonly string json;

        internal PromptDelta(string json)
        {
            this.json = json;
            Json.Members members = (Json.Members)Json.Read(json);
            Keep = (int)(long)members["keep"];
            Append = Json.Ids(members["append"]);
            Lost = (int)(long)members["lost"];
        }

        /// <summary>How many ids stay.</summary>
        public int Keep { get; }

        /// <summary>What comes after them.</summary>
        public uint[] Append { get; }

        /// <summary>How many ids go.</summary>
        public int Lost { get; }

        /// <summary>The same as every host writes it; <c>broken</c> says which part of the prompt broke the cache.</summary>
        public string ToJson()
        {
            return json;
        }
    }

    /// <summary>An assembled prompt.</summary>
    public sealed unsafe class Assembly : IDisposable
    {
        private readonly ContractState contract;
        private readonly AssemblyHandle handle;

        internal Assembly(ContractState contract, AssemblyHandle handle)
        {
            this.contract = contract;
            this.handle = handle;
        }

        private delegate uint Call(Context context, out UIntPtr length);

        /// <summary>Its ids.</summary>
        public uint[] InputIds
        {
            get
            {
                using (Context context = contract.Rent())
                {
                    UIntPtr count;
                    return context.Ids(Native.slm2_assembly_ids(context.Handle, handle, null, UIntPtr.Zero, out count));
                }
            }
        }

        /// <summary>For each id where it came from.</summary>
        public IReadOnlyList<Token> Tokens => Token.Read(TokensToJson());

        /// <summary>What to do with a model's cache that holds these ids.</summary>
        public PromptDelta Delta(uint[] cached)
        {
            using (Context context = contract.Rent())
            {
                fixed (uint* address = cached)
                {
                    UIntPtr length;
                    return new PromptDelta(context.Text(Native.slm2_assembly_delta(
                        context.Handle, handle, address, (UIntPtr)cached.Length, null, UIntPtr.Zero, out length)));
                }
            }
        }

        /// <summary>All of it, as every host writes it.</summary>
        public string ToJson()
        {
            return Text((Context context, out UIntPtr length) => Native.slm2_assembly_json(context.Handle, handle, null, UIntPtr.Zero, out length));
        }

        /// <summary>The report alone: what was taken, cut and left, without ids and tokens.</summary>
        public string ReportToJson()
        {
            return Text((Context context, out UIntPtr length) => Native.slm2_assembly_report(context.Handle, handle, null, UIntPtr.Zero, out length));
        }

        /// <summary>The tokens, as every host writes them.</summary>
        public string TokensToJson()
        {
            return Text((Context context, out UIntPtr length) => Native.slm2_assembly_tokens(context.Handle, handle, null, UIntPtr.Zero, out length));
        }

        /// <summary>Free what this object holds.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }

        private string Text(Call call)
        {
            using (Context context = contract.Rent())
            {
                UIntPtr length;
                return context.Text(call(context, out length));
            }
        }
    }
}
