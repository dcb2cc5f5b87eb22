using System;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Slm2
{
    /// <summary>The functions of crates/capi/include/slm2.h, one for one.</summary>
    internal static unsafe class Native
    {
        internal const string Library = "slm2_capi";
        internal const uint Ok = 0;
        internal const uint Refused = 1;
        internal const uint TooSmall = 2;
        internal const uint NoContext = 3;
        internal const uint AbiVersion = 1;
        internal const uint NoId = uint.MaxValue;

        [StructLayout(LayoutKind.Sequential)]
        internal struct Span
        {
            internal UIntPtr Id;
            internal UIntPtr Start;
            internal UIntPtr End;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Sample
        {
            internal ulong Id;
            internal ulong Words;
            internal fixed ulong Sizes[4];
            internal double Probability;
            internal double LogProbability;
            internal ulong NumberCount;
            internal fixed double Numbers[4];
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Ranked
        {
            internal ulong Id;
            internal double Probability;
            internal double LogProbability;
        }

        [DllImport(Library)] internal static extern uint slm2_abi_version();

        [DllImport(Library)] internal static extern ContextHandle slm2_context_new();
        [DllImport(Library)] internal static extern void slm2_context_free(IntPtr context);
        [DllImport(Library)] internal static extern uint slm2_context_set_max_pretoken(ContextHandle context, ulong maxPretoken);
        [DllImport(Library)] internal static extern uint slm2_error(ContextHandle context, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_result_view(ContextHandle context, out IntPtr address, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_contract_open(ContextHandle context, byte* bytes, UIntPtr length, out ContractHandle contract);
        [DllImport(Library)] internal static extern void slm2_contract_free(IntPtr contract);
        [DllImport(Library)] internal static extern uint slm2_contract_info(ContextHandle context, ContractHandle contract, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_contract_template_section(ContextHandle context, ContractHandle contract, byte* bytes, UIntPtr capacity, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_encode(ContextHandle context, ContractHandle contract, uint profile, uint onSpecial, byte* text, UIntPtr length, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_encode_spans(ContextHandle context, ContractHandle contract, uint profile, uint onSpecial, uint unit, byte* text, UIntPtr length, Span* spans, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_count(ContextHandle context, ContractHandle contract, uint profile, byte* text, UIntPtr length, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_count_until(ContextHandle context, ContractHandle contract, uint profile, byte* text, UIntPtr length, UIntPtr limit, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_encode_trusted(ContextHandle context, ContractHandle contract, uint profile, byte* text, UIntPtr length, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_find_special(ContextHandle context, ContractHandle contract, byte* text, UIntPtr length, Span* spans, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_decode(ContextHandle context, ContractHandle contract, uint special, uint* ids, UIntPtr count, byte* bytes, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_token_bytes(ContextHandle context, ContractHandle contract, uint id, byte* bytes, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_token_id(ContextHandle context, ContractHandle contract, byte* bytes, UIntPtr length, out uint id);

        [DllImport(Library)] internal static extern uint slm2_chunks_new(ContextHandle context, ContractHandle contract, uint profile, out ChunksHandle chunks);
        [DllImport(Library)] internal static extern void slm2_chunks_free(IntPtr chunks);
        [DllImport(Library)] internal static extern uint slm2_chunks_push(ContextHandle context, ChunksHandle chunks, byte* bytes, UIntPtr length, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_chunks_rest(ContextHandle context, ChunksHandle chunks, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_chunks_finish(ContextHandle context, ChunksHandle chunks, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_chunks_pending(ContextHandle context, ChunksHandle chunks, out UIntPtr bytes);

        [DllImport(Library)] internal static extern uint slm2_text_new(ContextHandle context, ContractHandle contract, uint profile, out TextHandle text);
        [DllImport(Library)] internal static extern uint slm2_text_copy(ContextHandle context, TextHandle text, out TextHandle copy);
        [DllImport(Library)] internal static extern void slm2_text_free(IntPtr text);
        [DllImport(Library)] internal static extern uint slm2_text_append(ContextHandle context, TextHandle text, byte* bytes, UIntPtr length, out UIntPtr keep, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_text_count(ContextHandle context, TextHandle text, out UIntPtr count);

        [DllImport(Library)] internal static extern uint slm2_stream_new(ContextHandle context, ContractHandle contract, uint special, out StreamHandle stream);
        [DllImport(Library)] internal static extern void slm2_stream_free(IntPtr stream);
        [DllImport(Library)] internal static extern uint slm2_stream_push(ContextHandle context, StreamHandle stream, uint* ids, UIntPtr count, byte* text, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_stream_finish(ContextHandle context, StreamHandle stream);
        [DllImport(Library)] internal static extern uint slm2_stream_pending(ContextHandle context, StreamHandle stream, byte* bytes, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_stream_position(ContextHandle context, StreamHandle stream, out ulong count);

        [DllImport(Library)] internal static extern uint slm2_render(ContextHandle context, ContractHandle contract, uint profile, uint onSpecial, byte* request, UIntPtr length, out RenderingHandle rendering);
        [DllImport(Library)] internal static extern void slm2_rendering_free(IntPtr rendering);
        [DllImport(Library)] internal static extern uint slm2_rendering_ids(ContextHandle context, RenderingHandle rendering, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_rendering_json(ContextHandle context, RenderingHandle rendering, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_rendering_tokens(ContextHandle context, RenderingHandle rendering, byte* json, UIntPtr capacity, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_reply_new(ContextHandle context, ContractHandle contract, byte* state, UIntPtr length, out ReplyHandle reply);
        [DllImport(Library)] internal static extern void slm2_reply_free(IntPtr reply);
        [DllImport(Library)] internal static extern uint slm2_reply_push(ContextHandle context, ReplyHandle reply, uint* ids, UIntPtr count, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_reply_finish(ContextHandle context, ReplyHandle reply, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_reply_state(ContextHandle context, ReplyHandle reply, byte* name, UIntPtr capacity, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_reply_message(ContextHandle context, ReplyHandle reply, byte* json, UIntPtr capacity, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_generation_new(ContextHandle context, ContractHandle contract, uint special, byte* config, UIntPtr length, uint* prompt, UIntPtr count, UIntPtr width, out GenerationHandle generation);
        [DllImport(Library)] internal static extern void slm2_generation_free(IntPtr generation);
        [DllImport(Library)] internal static extern uint slm2_generation_step(ContextHandle context, GenerationHandle generation, float* logits, UIntPtr width, byte* allowed, UIntPtr allowedLength, UIntPtr top, out Sample sample, out uint reason, byte* text, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_generation_sampler(ContextHandle context, GenerationHandle generation, out IntPtr sampler);
        [DllImport(Library)] internal static extern uint slm2_generation_result(ContextHandle context, GenerationHandle generation, byte* json, UIntPtr capacity, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_assemble(ContextHandle context, ContractHandle contract, uint profile, uint onSpecial, byte* request, UIntPtr length, out AssemblyHandle assembly);
        [DllImport(Library)] internal static extern void slm2_assembly_free(IntPtr assembly);
        [DllImport(Library)] internal static extern uint slm2_assembly_ids(ContextHandle context, AssemblyHandle assembly, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_assembly_json(ContextHandle context, AssemblyHandle assembly, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_assembly_report(ContextHandle context, AssemblyHandle assembly, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_assembly_tokens(ContextHandle context, AssemblyHandle assembly, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_assembly_delta(ContextHandle context, AssemblyHandle assembly, uint* cached, UIntPtr count, byte* json, UIntPtr capacity, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_session_new(ContextHandle context, ContractHandle contract, uint profile, byte* options, UIntPtr length, out SessionHandle session);
        [DllImport(Library)] internal static extern uint slm2_session_restore(ContextHandle context, ContractHandle contract, byte* checkpoint, UIntPtr length, out SessionHandle session);
        [DllImport(Library)] internal static extern uint slm2_session_fork(ContextHandle context, SessionHandle session, out SessionHandle fork);
        [DllImport(Library)] internal static extern void slm2_session_free(IntPtr session);
        [DllImport(Library)] internal static extern uint slm2_session_extend(ContextHandle context, SessionHandle session, byte* messages, UIntPtr messagesLength, int enableThinking, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_session_reply(ContextHandle context, SessionHandle session, uint* ids, UIntPtr count, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_session_settled(ContextHandle context, SessionHandle session, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_session_settle(ContextHandle context, SessionHandle session, byte* json, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_session_save(ContextHandle context, SessionHandle session, byte* checkpoint, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_session_cached_ids(ContextHandle context, SessionHandle session, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_session_messages(ContextHandle context, SessionHandle session, byte* json, UIntPtr capacity, out UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_sampler_new(ContextHandle context, ContractHandle contract, byte* config, UIntPtr length, uint* prompt, UIntPtr count, UIntPtr width, out SamplerHandle sampler);
        [DllImport(Library)] internal static extern void slm2_sampler_free(IntPtr sampler);
        [DllImport(Library)] internal static extern uint slm2_sampler_sample(ContextHandle context, SamplerHandle sampler, float* logits, UIntPtr width, byte* allowed, UIntPtr allowedLength, UIntPtr top, out Sample sample);
        [DllImport(Library)] internal static extern uint slm2_sampler_top(ContextHandle context, SamplerHandle sampler, Ranked* top, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_sampler_kept(ContextHandle context, SamplerHandle sampler, uint* ids, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_sampler_extend(ContextHandle context, SamplerHandle sampler, uint* ids, UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_sampler_position(ContextHandle context, SamplerHandle sampler, ulong* position);
        [DllImport(Library)] internal static extern uint slm2_sampler_advance(ContextHandle context, SamplerHandle sampler, ulong words);
        [DllImport(Library)] internal static extern uint slm2_sampler_state(ContextHandle context, SamplerHandle sampler, byte* state, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_sampler_restore(ContextHandle context, SamplerHandle sampler, byte* state, UIntPtr length);

        [DllImport(Library)] internal static extern uint slm2_generator_new(ContextHandle context, byte* seed, UIntPtr length, out GeneratorHandle generator);
        [DllImport(Library)] internal static extern void slm2_generator_free(IntPtr generator);
        [DllImport(Library)] internal static extern uint slm2_generator_words(ContextHandle context, GeneratorHandle generator, uint* words, UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_generator_uniform(ContextHandle context, GeneratorHandle generator, out double uniform);
        [DllImport(Library)] internal static extern uint slm2_generator_position(ContextHandle context, GeneratorHandle generator, ulong* position);
        [DllImport(Library)] internal static extern uint slm2_generator_advance(ContextHandle context, GeneratorHandle generator, ulong words);
        [DllImport(Library)] internal static extern uint slm2_generator_state(ContextHandle context, GeneratorHandle generator, byte* state, UIntPtr capacity, out UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_generator_restore(ContextHandle context, GeneratorHandle generator, byte* state, UIntPtr length);
        [DllImport(Library)] internal static extern uint slm2_portable(ContextHandle context, uint function, double* values, UIntPtr count);
        [DllImport(Library)] internal static extern uint slm2_sha256(ContextHandle context, byte* bytes, UIntPtr length, byte* digest);
        [DllImport(Library)] internal static extern uint slm2_recipe_logits(ContextHandle context, ulong seed, ulong step, double scale, double head, uint bfloat16, float* logits, UIntPtr width);
        [DllImport(Library)] internal static extern uint slm2_recipe_history(ContextHandle context, ulong seed, UIntPtr width, uint* ids, UIntPtr count);
    }

    /// <summary>A handle of the library, freed once, also where nobody disposed of it.</summary>
    internal abstract class Handle : SafeHandleZeroOrMinusOneIsInvalid
    {
        protected Handle() : base(true)
        {
        }
    }

    internal sealed class ContextHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_context_free(handle);
            return true;
        }
    }

    internal sealed class ContractHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_contract_free(handle);
            return true;
        }
    }

    internal sealed class ChunksHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_chunks_free(handle);
            return true;
        }
    }

    internal sealed class TextHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_text_free(handle);
            return true;
        }
    }

    internal sealed class StreamHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_stream_free(handle);
            return true;
        }
    }

    internal sealed class RenderingHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_rendering_free(handle);
            return true;
        }
    }

    internal sealed class ReplyHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_reply_free(handle);
            return true;
        }
    }

    internal sealed class SamplerHandle : Handle
    {
        private bool borrowed;

        /// <summary>The sampler inside a generation, which is freed with it.</summary>
        internal static SamplerHandle Borrowed(IntPtr address)
        {
            SamplerHandle inner = new SamplerHandle { borrowed = true };
            inner.SetHandle(address);
            return inner;
        }

        protected override bool ReleaseHandle()
        {
            if (!borrowed)
            {
                Native.slm2_sampler_free(handle);
            }
            return true;
        }
    }

    internal sealed class GenerationHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_generation_free(handle);
            return true;
        }
    }

    internal sealed class AssemblyHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_assembly_free(handle);
            return true;
        }
    }

    internal sealed class SessionHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_session_free(handle);
            return true;
        }
    }

    internal sealed class GeneratorHandle : Handle
    {
        protected override bool ReleaseHandle()
        {
            Native.slm2_generator_free(handle);
            return true;
        }
    }
}
