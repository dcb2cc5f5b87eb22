/* SLM2: the deterministic half of a small language model, behind a C ABI. Written from crates/capi/src; do not edit.
 *
 * slm2_contract is an opened artifact: immutable, used by any number of threads at once. slm2_context is what one thread works in: the
 * first argument of nearly every call, which keeps the last error and the last result. All else (chunks, streams, samplers, ...) is a
 * handle with a state, used by one thread at a time, with any context, and freed by its own function, in any order.
 *
 * Calls return a status. SLM2_REFUSED: slm2_error has code, fields and message (contract/errors.toml) as JSON. Results go to memory of
 * the caller: address, capacity, and an address for the count of elements. Where the capacity is less than the count, nothing is written
 * and the status is SLM2_TOO_SMALL: the call was made, and its result waits in the context, at slm2_result or, without a copy, at
 * slm2_result_view, until the next call with this context that is none of slm2_error, slm2_result and slm2_result_view.
 *
 * Text is UTF-8 by address and length, never with a zero at the end; without a byte its address may be NULL. Structured things are JSON.
 * NULL where something must be is refused (invalid_value). Memory must be as long as is said and aligned for what is there. Where the
 * process has no memory left it ends, but in slm2_alloc.
 */

#ifndef SLM2_H
#define SLM2_H

#include <stddef.h>
#include <stdint.h>

// The function exp.
#define SLM2_EXP 0

// The natural logarithm.
#define SLM2_LOG 1

// The logarithm of 1 + x.
#define SLM2_LOG1P 2

// Changes when a function, a struct or a meaning of this header changes in a way that callers see.
#define SLM2_ABI_VERSION 1

// The longest piece of text in bytes that a new context encodes.
#define SLM2_MAX_PRETOKEN (1 << 27)

// Profile `contract`.
#define SLM2_PROFILE_CONTRACT 0

// Profile `publisher`.
#define SLM2_PROFILE_PUBLISHER 1

// Ids of special tokens are refused.
#define SLM2_SPECIAL_REFUSE 0

// They stand for nothing.
#define SLM2_SPECIAL_SKIP 1

// They stand for their text.
#define SLM2_SPECIAL_BYTES 2

// Logits of a row of Qwen3-0.6B.
#define SLM2_WIDTH 151936

// The generation goes on.
#define SLM2_GOES_ON 0

// An id of `stop_ids` was drawn.
#define SLM2_STOP_TOKEN 1

// `max_tokens` ids were drawn.
#define SLM2_MAX_TOKENS 2

// A text of `stop_strings` came.
#define SLM2_STOP_STRING 3

// What came is no text.
#define SLM2_FATAL_ERROR 4

// Nothing is said about thinking: it is the model's choice, or what the session was made with.
#define SLM2_UNSAID -1

// The text of a special token in a text is encoded as the plain text that it is.
#define SLM2_ON_SPECIAL_LITERAL 0

// It is refused (`special_token_in_text`).
#define SLM2_ON_SPECIAL_REJECT 1

// Ranges count bytes.
#define SLM2_UNIT_BYTES 0

// Ranges count scalar values.
#define SLM2_UNIT_CODE_POINTS 1

// Ranges count UTF-16 code units.
#define SLM2_UNIT_UTF16 2

// No id.
#define SLM2_NO_ID UINT32_MAX

// An assembled prompt. Made with `slm2_assemble`.
typedef struct slm2_assembly slm2_assembly;

// The ids of a text that arrives in parts. Made with `slm2_chunks_new`.
typedef struct slm2_chunks slm2_chunks;

// What one thread works in. Made with `slm2_context_new`.
typedef struct slm2_context slm2_context;

// An opened artifact: immutable, for any number of threads. Made with `slm2_contract_open`.
typedef struct slm2_contract slm2_contract;

// A sampler and a strict stream decoder, from logits to text. Made with `slm2_generation_new`.
typedef struct slm2_generation slm2_generation;

// A generator by itself. Made with `slm2_generator_new`.
typedef struct slm2_generator slm2_generator;

// What the template made of a conversation. Made with `slm2_render`.
typedef struct slm2_rendering slm2_rendering;

// A reader of one reply. Made with `slm2_reply_new`.
typedef struct slm2_reply slm2_reply;

// A configuration, a generator and a history. Made with `slm2_sampler_new`.
typedef struct slm2_sampler slm2_sampler;

// A conversation that keeps its cache. Made with `slm2_session_new`.
typedef struct slm2_session slm2_session;

// A strict streaming decoder. Made with `slm2_stream_new`.
typedef struct slm2_stream slm2_stream;

// A text that grows at its end, with its ids. Made with `slm2_text_new`.
typedef struct slm2_text slm2_text;

// What became of a call.
typedef uint32_t slm2_status;

// One draw: fields of 8 bytes each, so that no host needs to know about padding.
typedef struct {
    // The token.
    uint64_t id;
    // How many 32-bit words the step took from the generator.
    uint64_t words;
    // How many ids were left before `top_k`, after it, after `top_p`, after `min_p`.
    uint64_t sizes[4];
    // Of the token, among the kept ones.
    double probability;
    // Its natural logarithm.
    double log_probability;
    // How many of the numbers there are: 0 at temperature 0, 4 in profile `contract`, 2 in profile `publisher`.
    uint64_t number_count;
    // What decided, for audits (S-62).
    double numbers[4];
} slm2_sample;

// A kept token.
typedef struct {
    // The token.
    uint64_t id;
    // Among the kept ones.
    double probability;
    // Its natural logarithm.
    double log_probability;
} slm2_ranked;

// An id and the range of the text that it came from, in the unit that was asked for.
typedef struct {
    // The id.
    size_t id;
    // Where the range begins.
    size_t start;
    // Where it ends.
    size_t end;
} slm2_span;

// It was done.
#define SLM2_OK 0

// It was refused: see `slm2_error`.
#define SLM2_REFUSED 1

// It was done, and its result is larger than the memory for it: see `slm2_result`.
#define SLM2_TOO_SMALL 2

// There is no context to work in.
#define SLM2_NO_CONTEXT 3

// The library made a mistake: of the handles of this call only the context may be used again. Please report it.
#define SLM2_INTERNAL 4

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A function of `SLM2_EXP` and so on of each of some float64, in their place: what a host compares with the bits of another.
slm2_status slm2_portable(slm2_context *context, uint32_t function, double *values, size_t count);

// The row of logits of a recipe (S-70).
slm2_status slm2_recipe_logits(slm2_context *context,
                               uint64_t seed,
                               uint64_t step,
                               double scale,
                               double head,
                               uint32_t bfloat16,
                               float *logits,
                               size_t width);

// The history of a recipe: `count` ids below `width` (S-73).
slm2_status slm2_recipe_history(slm2_context *context, uint64_t seed, size_t width, uint32_t *ids, size_t count);

// The SHA-256 of bytes, 32 bytes to `digest`.
slm2_status slm2_sha256(slm2_context *context, const uint8_t *bytes, size_t length, uint8_t *digest);

// `SLM2_ABI_VERSION` of the library.
uint32_t slm2_abi_version(void);

// A context for one thread.
slm2_context *slm2_context_new(void);

// Free a context; NULL is none.
void slm2_context_free(slm2_context *context);

// The longest piece of text in bytes that this context encodes from now on (`limit_out_of_range`).
slm2_status slm2_context_set_max_pretoken(slm2_context *context, uint64_t max_pretoken);

// The error of the last call as JSON, `{"code", "fields", "message"}`, or `null`.
slm2_status slm2_error(slm2_context *context, uint8_t *json, size_t capacity, size_t *length);

// The result of the last call that found too little room, in bytes: `length` of them.
slm2_status slm2_result(slm2_context *context, void *out, size_t capacity, size_t *length);

// Where that result is, and how many bytes it has; it stays there until the next call with this context that is not one of these.
slm2_status slm2_result_view(slm2_context *context, const void **address, size_t *length);

// Memory for what a call is given, aligned to 8 and zero; NULL where there is none.
void *slm2_alloc(size_t length);

// Give back memory of `slm2_alloc` with the same length; NULL is none.
void slm2_free(void *memory, size_t length);

// Open an artifact from a copy of its bytes: the first rule of contract/artifact.md that they break is the refusal.
slm2_status slm2_contract_open(slm2_context *context, const uint8_t *bytes, size_t length, slm2_contract **contract);

// Open an artifact where it lies, in memory of `slm2_alloc` of this length, which is the library's from now on, also
// where it is refused.
slm2_status slm2_contract_adopt(slm2_context *context, void *memory, size_t length, slm2_contract **contract);

// Free a contract; NULL is none. Handles that were made with it go on.
void slm2_contract_free(slm2_contract *contract);

// What is to say about it as JSON: `contract_version`, `vocabulary_size`, `token_limit`, `file_digest`, `semantic_digest`,
// `special_tokens` (arrays of id and text, ids rising) and `provenance`.
slm2_status slm2_contract_info(slm2_context *context, const slm2_contract *contract, uint8_t *json, size_t capacity, size_t *length);

// The template program as the artifact holds it (contract/artifact.md); no bytes where it has none.
slm2_status slm2_contract_template_section(slm2_context *context,
                                           const slm2_contract *contract,
                                           uint8_t *bytes,
                                           size_t capacity,
                                           size_t *length);

// Assemble a request: JSON, an object of contract/prompt.md, whose refusals these are.
slm2_status slm2_assemble(slm2_context *context,
                          const slm2_contract *contract,
                          uint32_t profile,
                          uint32_t on_special,
                          const uint8_t *request,
                          size_t length,
                          slm2_assembly **assembly);

// Free it; NULL is none.
void slm2_assembly_free(slm2_assembly *assembly);

// The ids of the prompt.
slm2_status slm2_assembly_ids(slm2_context *context, const slm2_assembly *assembly, uint32_t *ids, size_t capacity, size_t *count);

// All of it as JSON (contract/prompt.md, the report, with `input_ids` and `tokens`).
slm2_status slm2_assembly_json(slm2_context *context, const slm2_assembly *assembly, uint8_t *json, size_t capacity, size_t *length);

// The report alone: without `input_ids` and `tokens`.
slm2_status slm2_assembly_report(slm2_context *context, const slm2_assembly *assembly, uint8_t *json, size_t capacity, size_t *length);

// Each id with its origin as JSON, in the rows of `slm2_rendering_tokens`.
slm2_status slm2_assembly_tokens(slm2_context *context, const slm2_assembly *assembly, uint8_t *json, size_t capacity, size_t *length);

// What to do with a model's cache that holds `cached` ids, as JSON: `keep`, `append`, `lost` and `broken`.
slm2_status slm2_assembly_delta(slm2_context *context,
                                const slm2_assembly *assembly,
                                const uint32_t *cached,
                                size_t count,
                                uint8_t *json,
                                size_t capacity,
                                size_t *length);

// A sampler at the beginning of its stream, of a configuration in JSON (all fields of contract/sampling.md), the ids that the model
// has seen, and the number of logits of a row (`SLM2_WIDTH` but in tests).
slm2_status slm2_sampler_new(slm2_context *context,
                             const slm2_contract *contract,
                             const uint8_t *config,
                             size_t length,
                             const uint32_t *prompt,
                             size_t count,
                             size_t width,
                             slm2_sampler **sampler);

// Free it; NULL is none.
void slm2_sampler_free(slm2_sampler *sampler);

// Draw an id of a row of logits and take it into the history; a refusal changes nothing.
//
// `allowed` has a bit for each id, lowest first, or is NULL. The `top` most probable of the kept ids are at `slm2_sampler_top`
// afterwards.
slm2_status slm2_sampler_sample(slm2_context *context,
                                slm2_sampler *sampler,
                                const float *logits,
                                size_t width,
                                const uint8_t *allowed,
                                size_t allowed_length,
                                size_t top,
                                slm2_sample *sample);

// The most probable ids of the last step, as many as it was asked for; equal ones by rising id.
slm2_status slm2_sampler_top(slm2_context *context, const slm2_sampler *sampler, slm2_ranked *top, size_t capacity, size_t *count);

// The ids that the last step kept, rising; none before the first.
slm2_status slm2_sampler_kept(slm2_context *context, const slm2_sampler *sampler, uint32_t *ids, size_t capacity, size_t *count);

// Take ids into the history that the model has seen and this sampler did not draw (`token_id_out_of_range`).
slm2_status slm2_sampler_extend(slm2_context *context, slm2_sampler *sampler, const uint32_t *ids, size_t count);

// How many words were taken since the seed: the low 64 bits, then the high ones.
slm2_status slm2_sampler_position(slm2_context *context, const slm2_sampler *sampler, uint64_t *position);

// Go on as if so many words had been taken.
slm2_status slm2_sampler_advance(slm2_context *context, slm2_sampler *sampler, uint64_t words);

// The state of the generator, to be kept as it is (S-35). The history is not in it.
slm2_status slm2_sampler_state(slm2_context *context, const slm2_sampler *sampler, uint8_t *state, size_t capacity, size_t *length);

// Go on from a saved state of a generator of the same kind (`generator_state`).
slm2_status slm2_sampler_restore(slm2_context *context, slm2_sampler *sampler, const uint8_t *state, size_t length);

// A generator of JSON: `rng`, `seed` and, where it is not 0, `stream`.
slm2_status slm2_generator_new(slm2_context *context, const uint8_t *seed, size_t length, slm2_generator **generator);

// Free it; NULL is none.
void slm2_generator_free(slm2_generator *generator);

// The next words, `count` of them.
slm2_status slm2_generator_words(slm2_context *context, slm2_generator *generator, uint32_t *words, size_t count);

// A multiple of 2^-53 in [0, 1), from two words.
slm2_status slm2_generator_uniform(slm2_context *context, slm2_generator *generator, double *uniform);

// As `slm2_sampler_position`.
slm2_status slm2_generator_position(slm2_context *context, const slm2_generator *generator, uint64_t *position);

// As `slm2_sampler_advance`.
slm2_status slm2_generator_advance(slm2_context *context, slm2_generator *generator, uint64_t words);

// As `slm2_sampler_state`.
slm2_status slm2_generator_state(slm2_context *context, const slm2_generator *generator, uint8_t *state, size_t capacity, size_t *length);

// As `slm2_sampler_restore`.
slm2_status slm2_generator_restore(slm2_context *context, slm2_generator *generator, const uint8_t *state, size_t length);

// A generation of a configuration in JSON, with the arguments of `slm2_sampler_new` and what becomes of ids of special tokens that do
// not stop it.
slm2_status slm2_generation_new(slm2_context *context,
                                const slm2_contract *contract,
                                uint32_t special,
                                const uint8_t *config,
                                size_t length,
                                const uint32_t *prompt,
                                size_t count,
                                size_t width,
                                slm2_generation **generation);

// Free it; NULL is none.
void slm2_generation_free(slm2_generation *generation);

// Draw an id and deliver the text that became complete with it, as UTF-8; `reason` is `SLM2_GOES_ON`, or why it ended.
//
// The refusals of `slm2_sampler_sample` change nothing; those of the stream decoder (`structural_id`) end it without a reason.
slm2_status slm2_generation_step(slm2_context *context,
                                 slm2_generation *generation,
                                 const float *logits,
                                 size_t width,
                                 const uint8_t *allowed,
                                 size_t allowed_length,
                                 size_t top,
                                 slm2_sample *sample,
                                 uint32_t *reason,
                                 uint8_t *text,
                                 size_t capacity,
                                 size_t *length);

// Its sampler: what was kept, the most probable ids, the state of the generator. It lives as long as the generation and is not freed by
// itself; ids are drawn with `slm2_generation_step` alone.
slm2_status slm2_generation_sampler(slm2_context *context, slm2_generation *generation, slm2_sampler **sampler);

// The generation so far as JSON: `ids`, `text`, `reason`, `stopped_by`, `stop_string`, `pending` (hex), `profile`.
slm2_status slm2_generation_result(slm2_context *context,
                                   const slm2_generation *generation,
                                   uint8_t *json,
                                   size_t capacity,
                                   size_t *length);

// A session without a message, of options in JSON: an object of `tools`, `enable_thinking`, `preserve_thinking`, all of which may be
// absent.
slm2_status slm2_session_new(slm2_context *context,
                             const slm2_contract *contract,
                             uint32_t profile,
                             const uint8_t *options,
                             size_t length,
                             slm2_session **session);

// The session of a checkpoint (`checkpoint_refused`).
slm2_status slm2_session_restore(slm2_context *context,
                                 const slm2_contract *contract,
                                 const uint8_t *checkpoint,
                                 size_t length,
                                 slm2_session **session);

// Another one that goes on from here.
slm2_status slm2_session_fork(slm2_context *context, const slm2_session *session, slm2_session **fork);

// Free it; NULL is none.
void slm2_session_free(slm2_session *session);

// Add messages, a JSON array, and ask for a reply: what to do with the model's cache as JSON, `keep`, `append`, `lost` and `state`.
// `enable_thinking` is 0, 1 or `SLM2_UNSAID`.
slm2_status slm2_session_extend(slm2_context *context,
                                slm2_session *session,
                                const uint8_t *messages,
                                size_t messages_length,
                                int32_t enable_thinking,
                                uint8_t *json,
                                size_t capacity,
                                size_t *length);

// Add the reply to the last prompt by its ids: events as of `slm2_reply_push`.
slm2_status slm2_session_reply(slm2_context *context,
                               slm2_session *session,
                               const uint32_t *ids,
                               size_t count,
                               uint8_t *json,
                               size_t capacity,
                               size_t *length);

// The prompt up to the last turn as it is once a user turn follows; nothing changes.
slm2_status slm2_session_settled(slm2_context *context, slm2_session *session, uint8_t *json, size_t capacity, size_t *length);

// The same, and the cache holds it from now on.
slm2_status slm2_session_settle(slm2_context *context, slm2_session *session, uint8_t *json, size_t capacity, size_t *length);

// A checkpoint: JSON that `slm2_session_restore` takes.
slm2_status slm2_session_save(slm2_context *context, const slm2_session *session, uint8_t *checkpoint, size_t capacity, size_t *length);

// What the model's cache holds when every delta was followed.
slm2_status slm2_session_cached_ids(slm2_context *context, const slm2_session *session, uint32_t *ids, size_t capacity, size_t *count);

// The conversation so far, a JSON array of messages.
slm2_status slm2_session_messages(slm2_context *context, const slm2_session *session, uint8_t *json, size_t capacity, size_t *length);

// A decoder at the beginning of a stream.
slm2_status slm2_stream_new(slm2_context *context, const slm2_contract *contract, uint32_t special, slm2_stream **stream);

// Free it; NULL is none.
void slm2_stream_free(slm2_stream *stream);

// Text that became complete with ids, as UTF-8. `ill_formed_text` ends the stream and carries the text of this call in its fields.
slm2_status slm2_stream_push(slm2_context *context,
                             slm2_stream *stream,
                             const uint32_t *ids,
                             size_t count,
                             uint8_t *text,
                             size_t capacity,
                             size_t *length);

// End the stream (`unfinished_text` where a scalar value is open).
slm2_status slm2_stream_finish(slm2_context *context, slm2_stream *stream);

// Bytes that have come and were not delivered.
slm2_status slm2_stream_pending(slm2_context *context, const slm2_stream *stream, uint8_t *bytes, size_t capacity, size_t *length);

// How many ids were taken.
slm2_status slm2_stream_position(slm2_context *context, const slm2_stream *stream, uint64_t *count);

// Render a request: JSON, an object with `messages`, and what else contract/template.md has. The refusals are those of that page.
slm2_status slm2_render(slm2_context *context,
                        const slm2_contract *contract,
                        uint32_t profile,
                        uint32_t on_special,
                        const uint8_t *request,
                        size_t length,
                        slm2_rendering **rendering);

// Free it; NULL is none.
void slm2_rendering_free(slm2_rendering *rendering);

// The ids of the prompt.
slm2_status slm2_rendering_ids(slm2_context *context, const slm2_rendering *rendering, uint32_t *ids, size_t capacity, size_t *count);

// All of it but the tokens as JSON: `input_ids`, `text`, `findings`, `policy_findings`, `dropped_reasoning`, `state`, `path`.
slm2_status slm2_rendering_json(slm2_context *context, const slm2_rendering *rendering, uint8_t *json, size_t capacity, size_t *length);

// Each id with its origin as JSON: arrays of id, role, part, trust class, message (or null) and ranges (source, start, end).
slm2_status slm2_rendering_tokens(slm2_context *context, const slm2_rendering *rendering, uint8_t *json, size_t capacity, size_t *length);

// A reader of the reply to a prompt that ended in a state of the template's machine, by its name.
slm2_status slm2_reply_new(slm2_context *context, const slm2_contract *contract, const uint8_t *state, size_t length, slm2_reply **reply);

// Free it; NULL is none.
void slm2_reply_free(slm2_reply *reply);

// What ids say, as a JSON array of events: `kind`, and what is not empty of `text`, `ids`, `name`, `arguments`, `reason`.
slm2_status slm2_reply_push(slm2_context *context,
                            slm2_reply *reply,
                            const uint32_t *ids,
                            size_t count,
                            uint8_t *json,
                            size_t capacity,
                            size_t *length);

// The end, where no token ended the turn, as the same.
slm2_status slm2_reply_finish(slm2_context *context, slm2_reply *reply, uint8_t *json, size_t capacity, size_t *length);

// What was said so far as a message for `slm2_render`, in JSON; calls that are none are not in it.
slm2_status slm2_reply_message(slm2_context *context, const slm2_reply *reply, uint8_t *json, size_t capacity, size_t *length);

// The name of the state in which the machine is.
slm2_status slm2_reply_state(slm2_context *context, const slm2_reply *reply, uint8_t *name, size_t capacity, size_t *length);

// An encoder before the first byte of a text.
slm2_status slm2_chunks_new(slm2_context *context, const slm2_contract *contract, uint32_t profile, slm2_chunks **chunks);

// Free it; NULL is none.
void slm2_chunks_free(slm2_chunks *chunks);

// The ids that are certain with these bytes; `pretoken_too_long` ends the text.
slm2_status slm2_chunks_push(slm2_context *context,
                             slm2_chunks *chunks,
                             const uint8_t *bytes,
                             size_t length,
                             uint32_t *ids,
                             size_t capacity,
                             size_t *count);

// The ids that what waits would have if the text ended here; it goes on all the same.
slm2_status slm2_chunks_rest(slm2_context *context, slm2_chunks *chunks, uint32_t *ids, size_t capacity, size_t *count);

// End the text: the ids of what waits.
slm2_status slm2_chunks_finish(slm2_context *context, slm2_chunks *chunks, uint32_t *ids, size_t capacity, size_t *count);

// How many bytes wait for what comes after them.
slm2_status slm2_chunks_pending(slm2_context *context, const slm2_chunks *chunks, size_t *bytes);

// The empty text.
slm2_status slm2_text_new(slm2_context *context, const slm2_contract *contract, uint32_t profile, slm2_text **text);

// Another one that goes on from here.
slm2_status slm2_text_copy(slm2_context *context, const slm2_text *text, slm2_text **copy);

// Free it; NULL is none.
void slm2_text_free(slm2_text *text);

// Append text: the first `keep` ids stay, what comes after them goes, `ids` come in its place. A refusal leaves all as it was.
slm2_status slm2_text_append(slm2_context *context,
                             slm2_text *text,
                             const uint8_t *bytes,
                             size_t length,
                             size_t *keep,
                             uint32_t *ids,
                             size_t capacity,
                             size_t *count);

// How many ids the text has.
slm2_status slm2_text_count(slm2_context *context, const slm2_text *text, size_t *count);

// Ids of text, no byte of which becomes a special token.
slm2_status slm2_encode(slm2_context *context,
                        const slm2_contract *contract,
                        uint32_t profile,
                        uint32_t on_special,
                        const uint8_t *text,
                        size_t length,
                        uint32_t *ids,
                        size_t capacity,
                        size_t *count);

// The same ids with the ranges of the text that they came from.
slm2_status slm2_encode_spans(slm2_context *context,
                              const slm2_contract *contract,
                              uint32_t profile,
                              uint32_t on_special,
                              uint32_t unit,
                              const uint8_t *text,
                              size_t length,
                              slm2_span *spans,
                              size_t capacity,
                              size_t *count);

// How many ids text has.
slm2_status slm2_count(slm2_context *context,
                       const slm2_contract *contract,
                       uint32_t profile,
                       const uint8_t *text,
                       size_t length,
                       size_t *count);

// How many, where they are not more than `limit`; else `SIZE_MAX`, and the rest of the text is not looked at.
slm2_status slm2_count_until(slm2_context *context,
                             const slm2_contract *contract,
                             uint32_t profile,
                             const uint8_t *text,
                             size_t length,
                             size_t limit,
                             size_t *count);

// Ids of text in which the text of a special token is that token: never for text of others.
slm2_status slm2_encode_trusted(slm2_context *context,
                                const slm2_contract *contract,
                                uint32_t profile,
                                const uint8_t *text,
                                size_t length,
                                uint32_t *ids,
                                size_t capacity,
                                size_t *count);

// The texts of special tokens in text, in bytes: from the left, the longest at each place, not overlapping.
slm2_status slm2_find_special(slm2_context *context,
                              const slm2_contract *contract,
                              const uint8_t *text,
                              size_t length,
                              slm2_span *spans,
                              size_t capacity,
                              size_t *count);

// The bytes of tokens one after the other, which need not be UTF-8 (`token_id_out_of_range`, `structural_id`).
slm2_status slm2_decode(slm2_context *context,
                        const slm2_contract *contract,
                        uint32_t special,
                        const uint32_t *ids,
                        size_t count,
                        uint8_t *bytes,
                        size_t capacity,
                        size_t *length);

// The bytes of a plain token or the text of a special one (`token_id_out_of_range`).
slm2_status slm2_token_bytes(slm2_context *context,
                             const slm2_contract *contract,
                             uint32_t id,
                             uint8_t *bytes,
                             size_t capacity,
                             size_t *length);

// The plain token that has exactly these bytes, or `SLM2_NO_ID`.
slm2_status slm2_token_id(slm2_context *context, const slm2_contract *contract, const uint8_t *bytes, size_t length, uint32_t *id);

// `SLM2_ABI_VERSION` of the library.
uint32_t slm2_abi_version(void);

// A context for one thread.
slm2_context *slm2_context_new(void);

// Free a context; NULL is none.
void slm2_context_free(slm2_context *context);

// The longest piece of text in bytes that this context encodes from now on (`limit_out_of_range`).
slm2_status slm2_context_set_max_pretoken(slm2_context *context, uint64_t max_pretoken);

// The error of the last call as JSON, `{"code", "fields", "message"}`, or `null`.
slm2_status slm2_error(slm2_context *context, uint8_t *json, size_t capacity, size_t *length);

// The result of the last call that found too little room, in bytes: `length` of them.
slm2_status slm2_result(slm2_context *context, void *out, size_t capacity, size_t *length);

// Where that result is, and how many bytes it has; it stays there until the next call with this context that is not one of these.
slm2_status slm2_result_view(slm2_context *context, const void **address, size_t *length);

// Memory for what a call is given, aligned to 8 and zero; NULL where there is none.
void *slm2_alloc(size_t length);

// Give back memory of `slm2_alloc` with the same length; NULL is none.
void slm2_free(void *memory, size_t length);

// Open an artifact from a copy of its bytes: the first rule of contract/artifact.md that they break is the refusal.
slm2_status slm2_contract_open(slm2_context *context, const uint8_t *bytes, size_t length, slm2_contract **contract);

// Open an artifact where it lies, in memory of `slm2_alloc` of this length, which is the library's from now on, also
// where it is refused.
slm2_status slm2_contract_adopt(slm2_context *context, void *memory, size_t length, slm2_contract **contract);

// Free a contract; NULL is none. Handles that were made with it go on.
void slm2_contract_free(slm2_contract *contract);

// What is to say about it as JSON: `contract_version`, `vocabulary_size`, `token_limit`, `file_digest`, `semantic_digest`,
// `special_tokens` (arrays of id and text, ids rising) and `provenance`.
slm2_status slm2_contract_info(slm2_context *context, const slm2_contract *contract, uint8_t *json, size_t capacity, size_t *length);

// The template program as the artifact holds it (contract/artifact.md); no bytes where it has none.
slm2_status slm2_contract_template_section(slm2_context *context,
                                           const slm2_contract *contract,
                                           uint8_t *bytes,
                                           size_t capacity,
                                           size_t *length);

// Ids of text, no byte of which becomes a special token.
slm2_status slm2_encode(slm2_context *context,
                        const slm2_contract *contract,
                        uint32_t profile,
                        uint32_t on_special,
                        const uint8_t *text,
                        size_t length,
                        uint32_t *ids,
                        size_t capacity,
                        size_t *count);

// The same ids with the ranges of the text that they came from.
slm2_status slm2_encode_spans(slm2_context *context,
                              const slm2_contract *contract,
                              uint32_t profile,
                              uint32_t on_special,
                              uint32_t unit,
                              const uint8_t *text,
                              size_t length,
                              slm2_span *spans,
                              size_t capacity,
                              size_t *count);

// How many ids text has.
slm2_status slm2_count(slm2_context *context,
                       const slm2_contract *contract,
                       uint32_t profile,
                       const uint8_t *text,
                       size_t length,
                       size_t *count);

// How many, where they are not more than `limit`; else `SIZE_MAX`, and the rest of the text is not looked at.
slm2_status slm2_count_until(slm2_context *context,
                             const slm2_contract *contract,
                             uint32_t profile,
                             const uint8_t *text,
                             size_t length,
                             size_t limit,
                             size_t *count);

// Ids of text in which the text of a special token is that token: never for text of others.
slm2_status slm2_encode_trusted(slm2_context *context,
                                const slm2_contract *contract,
                                uint32_t profile,
                                const uint8_t *text,
                                size_t length,
                                uint32_t *ids,
                                size_t capacity,
                                size_t *count);

// The texts of special tokens in text, in bytes: from the left, the longest at each place, not overlapping.
slm2_status slm2_find_special(slm2_context *context,
                              const slm2_contract *contract,
                              const uint8_t *text,
                              size_t length,
                              slm2_span *spans,
                              size_t capacity,
                              size_t *count);

// The bytes of tokens one after the other, which need not be UTF-8 (`token_id_out_of_range`, `structural_id`).
slm2_status slm2_decode(slm2_context *context,
                        const slm2_contract *contract,
                        uint32_t special,
                        const uint32_t *ids,
                        size_t count,
                        uint8_t *bytes,
                        size_t capacity,
                        size_t *length);

// The bytes of a plain token or the text of a special one (`token_id_out_of_range`).
slm2_status slm2_token_bytes(slm2_context *context,
                             const slm2_contract *contract,
                             uint32_t id,
                             uint8_t *bytes,
                             size_t capacity,
                             size_t *length);

// The plain token that has exactly these bytes, or `SLM2_NO_ID`.
slm2_status slm2_token_id(slm2_context *context, const slm2_contract *contract, const uint8_t *bytes, size_t length, uint32_t *id);

// An encoder before the first byte of a text.
slm2_status slm2_chunks_new(slm2_context *context, const slm2_contract *contract, uint32_t profile, slm2_chunks **chunks);

// Free it; NULL is none.
void slm2_chunks_free(slm2_chunks *chunks);

// The ids that are certain with these bytes; `pretoken_too_long` ends the text.
slm2_status slm2_chunks_push(slm2_context *context,
                             slm2_chunks *chunks,
                             const uint8_t *bytes,
                             size_t length,
                             uint32_t *ids,
                             size_t capacity,
                             size_t *count);

// The ids that what waits would have if the text ended here; it goes on all the same.
slm2_status slm2_chunks_rest(slm2_context *context, slm2_chunks *chunks, uint32_t *ids, size_t capacity, size_t *count);

// End the text: the ids of what waits.
slm2_status slm2_chunks_finish(slm2_context *context, slm2_chunks *chunks, uint32_t *ids, size_t capacity, size_t *count);

// How many bytes wait for what comes after them.
slm2_status slm2_chunks_pending(slm2_context *context, const slm2_chunks *chunks, size_t *bytes);

// The empty text.
slm2_status slm2_text_new(slm2_context *context, const slm2_contract *contract, uint32_t profile, slm2_text **text);

// Another one that goes on from here.
slm2_status slm2_text_copy(slm2_context *context, const slm2_text *text, slm2_text **copy);

// Free it; NULL is none.
void slm2_text_free(slm2_text *text);

// Append text: the first `keep` ids stay, what comes after them goes, `ids` come in its place. A refusal leaves all as it was.
slm2_status slm2_text_append(slm2_context *context,
                             slm2_text *text,
                             const uint8_t *bytes,
                             size_t length,
                             size_t *keep,
                             uint32_t *ids,
                             size_t capacity,
                             size_t *count);

// How many ids the text has.
slm2_status slm2_text_count(slm2_context *context, const slm2_text *text, size_t *count);

// A decoder at the beginning of a stream.
slm2_status slm2_stream_new(slm2_context *context, const slm2_contract *contract, uint32_t special, slm2_stream **stream);

// Free it; NULL is none.
void slm2_stream_free(slm2_stream *stream);

// Text that became complete with ids, as UTF-8. `ill_formed_text` ends the stream and carries the text of this call in its fields.
slm2_status slm2_stream_push(slm2_context *context,
                             slm2_stream *stream,
                             const uint32_t *ids,
                             size_t count,
                             uint8_t *text,
                             size_t capacity,
                             size_t *length);

// End the stream (`unfinished_text` where a scalar value is open).
slm2_status slm2_stream_finish(slm2_context *context, slm2_stream *stream);

// Bytes that have come and were not delivered.
slm2_status slm2_stream_pending(slm2_context *context, const slm2_stream *stream, uint8_t *bytes, size_t capacity, size_t *length);

// How many ids were taken.
slm2_status slm2_stream_position(slm2_context *context, const slm2_stream *stream, uint64_t *count);

// Render a request: JSON, an object with `messages`, and what else contract/template.md has. The refusals are those of that page.
slm2_status slm2_render(slm2_context *context,
                        const slm2_contract *contract,
                        uint32_t profile,
                        uint32_t on_special,
                        const uint8_t *request,
                        size_t length,
                        slm2_rendering **rendering);

// Free it; NULL is none.
void slm2_rendering_free(slm2_rendering *rendering);

// The ids of the prompt.
slm2_status slm2_rendering_ids(slm2_context *context, const slm2_rendering *rendering, uint32_t *ids, size_t capacity, size_t *count);

// All of it but the tokens as JSON: `input_ids`, `text`, `findings`, `policy_findings`, `dropped_reasoning`, `state`, `path`.
slm2_status slm2_rendering_json(slm2_context *context, const slm2_rendering *rendering, uint8_t *json, size_t capacity, size_t *length);

// Each id with its origin as JSON: arrays of id, role, part, trust class, message (or null) and ranges (source, start, end).
slm2_status slm2_rendering_tokens(slm2_context *context, const slm2_rendering *rendering, uint8_t *json, size_t capacity, size_t *length);

// A reader of the reply to a prompt that ended in a state of the template's machine, by its name.
slm2_status slm2_reply_new(slm2_context *context, const slm2_contract *contract, const uint8_t *state, size_t length, slm2_reply **reply);

// Free it; NULL is none.
void slm2_reply_free(slm2_reply *reply);

// What ids say, as a JSON array of events: `kind`, and what is not empty of `text`, `ids`, `name`, `arguments`, `reason`.
slm2_status slm2_reply_push(slm2_context *context,
                            slm2_reply *reply,
                            const uint32_t *ids,
                            size_t count,
                            uint8_t *json,
                            size_t capacity,
                            size_t *length);

// The end, where no token ended the turn, as the same.
slm2_status slm2_reply_finish(slm2_context *context, slm2_reply *reply, uint8_t *json, size_t capacity, size_t *length);

// What was said so far as a message for `slm2_render`, in JSON; calls that are none are not in it.
slm2_status slm2_reply_message(slm2_context *context, const slm2_reply *reply, uint8_t *json, size_t capacity, size_t *length);

// The name of the state in which the machine is.
slm2_status slm2_reply_state(slm2_context *context, const slm2_reply *reply, uint8_t *name, size_t capacity, size_t *length);

// Assemble a request: JSON, an object of contract/prompt.md, whose refusals these are.
slm2_status slm2_assemble(slm2_context *context,
                          const slm2_contract *contract,
                          uint32_t profile,
                          uint32_t on_special,
                          const uint8_t *request,
                          size_t length,
                          slm2_assembly **assembly);

// Free it; NULL is none.
void slm2_assembly_free(slm2_assembly *assembly);

// The ids of the prompt.
slm2_status slm2_assembly_ids(slm2_context *context, const slm2_assembly *assembly, uint32_t *ids, size_t capacity, size_t *count);

// All of it as JSON (contract/prompt.md, the report, with `input_ids` and `tokens`).
slm2_status slm2_assembly_json(slm2_context *context, const slm2_assembly *assembly, uint8_t *json, size_t capacity, size_t *length);

// The report alone: without `input_ids` and `tokens`.
slm2_status slm2_assembly_report(slm2_context *context, const slm2_assembly *assembly, uint8_t *json, size_t capacity, size_t *length);

// Each id with its origin as JSON, in the rows of `slm2_rendering_tokens`.
slm2_status slm2_assembly_tokens(slm2_context *context, const slm2_assembly *assembly, uint8_t *json, size_t capacity, size_t *length);

// What to do with a model's cache that holds `cached` ids, as JSON: `keep`, `append`, `lost` and `broken`.
slm2_status slm2_assembly_delta(slm2_context *context,
                                const slm2_assembly *assembly,
                                const uint32_t *cached,
                                size_t count,
                                uint8_t *json,
                                size_t capacity,
                                size_t *length);

// A sampler at the beginning of its stream, of a configuration in JSON (all fields of contract/sampling.md), the ids that the model
// has seen, and the number of logits of a row (`SLM2_WIDTH` but in tests).
slm2_status slm2_sampler_new(slm2_context *context,
                             const slm2_contract *contract,
                             const uint8_t *config,
                             size_t length,
                             const uint32_t *prompt,
                             size_t count,
                             size_t width,
                             slm2_sampler **sampler);

// Free it; NULL is none.
void slm2_sampler_free(slm2_sampler *sampler);

// Draw an id of a row of logits and take it into the history; a refusal changes nothing.
//
// `allowed` has a bit for each id, lowest first, or is NULL. The `top` most probable of the kept ids are at `slm2_sampler_top`
// afterwards.
slm2_status slm2_sampler_sample(slm2_context *context,
                                slm2_sampler *sampler,
                                const float *logits,
                                size_t width,
                                const uint8_t *allowed,
                                size_t allowed_length,
                                size_t top,
                                slm2_sample *sample);

// The most probable ids of the last step, as many as it was asked for; equal ones by rising id.
slm2_status slm2_sampler_top(slm2_context *context, const slm2_sampler *sampler, slm2_ranked *top, size_t capacity, size_t *count);

// The ids that the last step kept, rising; none before the first.
slm2_status slm2_sampler_kept(slm2_context *context, const slm2_sampler *sampler, uint32_t *ids, size_t capacity, size_t *count);

// Take ids into the history that the model has seen and this sampler did not draw (`token_id_out_of_range`).
slm2_status slm2_sampler_extend(slm2_context *context, slm2_sampler *sampler, const uint32_t *ids, size_t count);

// How many words were taken since the seed: the low 64 bits, then the high ones.
slm2_status slm2_sampler_position(slm2_context *context, const slm2_sampler *sampler, uint64_t *position);

// Go on as if so many words had been taken.
slm2_status slm2_sampler_advance(slm2_context *context, slm2_sampler *sampler, uint64_t words);

// The state of the generator, to be kept as it is (S-35). The history is not in it.
slm2_status slm2_sampler_state(slm2_context *context, const slm2_sampler *sampler, uint8_t *state, size_t capacity, size_t *length);

// Go on from a saved state of a generator of the same kind (`generator_state`).
slm2_status slm2_sampler_restore(slm2_context *context, slm2_sampler *sampler, const uint8_t *state, size_t length);

// A generator of JSON: `rng`, `seed` and, where it is not 0, `stream`.
slm2_status slm2_generator_new(slm2_context *context, const uint8_t *seed, size_t length, slm2_generator **generator);

// Free it; NULL is none.
void slm2_generator_free(slm2_generator *generator);

// The next words, `count` of them.
slm2_status slm2_generator_words(slm2_context *context, slm2_generator *generator, uint32_t *words, size_t count);

// A multiple of 2^-53 in [0, 1), from two words.
slm2_status slm2_generator_uniform(slm2_context *context, slm2_generator *generator, double *uniform);

// As `slm2_sampler_position`.
slm2_status slm2_generator_position(slm2_context *context, const slm2_generator *generator, uint64_t *position);

// As `slm2_sampler_advance`.
slm2_status slm2_generator_advance(slm2_context *context, slm2_generator *generator, uint64_t words);

// As `slm2_sampler_state`.
slm2_status slm2_generator_state(slm2_context *context, const slm2_generator *generator, uint8_t *state, size_t capacity, size_t *length);

// As `slm2_sampler_restore`.
slm2_status slm2_generator_restore(slm2_context *context, slm2_generator *generator, const uint8_t *state, size_t length);

// A generation of a configuration in JSON, with the arguments of `slm2_sampler_new` and what becomes of ids of special tokens that do
// not stop it.
slm2_status slm2_generation_new(slm2_context *context,
                                const slm2_contract *contract,
                                uint32_t special,
                                const uint8_t *config,
                                size_t length,
                                const uint32_t *prompt,
                                size_t count,
                                size_t width,
                                slm2_generation **generation);

// Free it; NULL is none.
void slm2_generation_free(slm2_generation *generation);

// Draw an id and deliver the text that became complete with it, as UTF-8; `reason` is `SLM2_GOES_ON`, or why it ended.
//
// The refusals of `slm2_sampler_sample` change nothing; those of the stream decoder (`structural_id`) end it without a reason.
slm2_status slm2_generation_step(slm2_context *context,
                                 slm2_generation *generation,
                                 const float *logits,
                                 size_t width,
                                 const uint8_t *allowed,
                                 size_t allowed_length,
                                 size_t top,
                                 slm2_sample *sample,
                                 uint32_t *reason,
                                 uint8_t *text,
                                 size_t capacity,
                                 size_t *length);

// Its sampler: what was kept, the most probable ids, the state of the generator. It lives as long as the generation and is not freed by
// itself; ids are drawn with `slm2_generation_step` alone.
slm2_status slm2_generation_sampler(slm2_context *context, slm2_generation *generation, slm2_sampler **sampler);

// The generation so far as JSON: `ids`, `text`, `reason`, `stopped_by`, `stop_string`, `pending` (hex), `profile`.
slm2_status slm2_generation_result(slm2_context *context,
                                   const slm2_generation *generation,
                                   uint8_t *json,
                                   size_t capacity,
                                   size_t *length);

// A session without a message, of options in JSON: an object of `tools`, `enable_thinking`, `preserve_thinking`, all of which may be
// absent.
slm2_status slm2_session_new(slm2_context *context,
                             const slm2_contract *contract,
                             uint32_t profile,
                             const uint8_t *options,
                             size_t length,
                             slm2_session **session);

// The session of a checkpoint (`checkpoint_refused`).
slm2_status slm2_session_restore(slm2_context *context,
                                 const slm2_contract *contract,
                                 const uint8_t *checkpoint,
                                 size_t length,
                                 slm2_session **session);

// Another one that goes on from here.
slm2_status slm2_session_fork(slm2_context *context, const slm2_session *session, slm2_session **fork);

// Free it; NULL is none.
void slm2_session_free(slm2_session *session);

// Add messages, a JSON array, and ask for a reply: what to do with the model's cache as JSON, `keep`, `append`, `lost` and `state`.
// `enable_thinking` is 0, 1 or `SLM2_UNSAID`.
slm2_status slm2_session_extend(slm2_context *context,
                                slm2_session *session,
                                const uint8_t *messages,
                                size_t messages_length,
                                int32_t enable_thinking,
                                uint8_t *json,
                                size_t capacity,
                                size_t *length);

// Add the reply to the last prompt by its ids: events as of `slm2_reply_push`.
slm2_status slm2_session_reply(slm2_context *context,
                               slm2_session *session,
                               const uint32_t *ids,
                               size_t count,
                               uint8_t *json,
                               size_t capacity,
                               size_t *length);

// The prompt up to the last turn as it is once a user turn follows; nothing changes.
slm2_status slm2_session_settled(slm2_context *context, slm2_session *session, uint8_t *json, size_t capacity, size_t *length);

// The same, and the cache holds it from now on.
slm2_status slm2_session_settle(slm2_context *context, slm2_session *session, uint8_t *json, size_t capacity, size_t *length);

// A checkpoint: JSON that `slm2_session_restore` takes.
slm2_status slm2_session_save(slm2_context *context, const slm2_session *session, uint8_t *checkpoint, size_t capacity, size_t *length);

// What the model's cache holds when every delta was followed.
slm2_status slm2_session_cached_ids(slm2_context *context, const slm2_session *session, uint32_t *ids, size_t capacity, size_t *count);

// The conversation so far, a JSON array of messages.
slm2_status slm2_session_messages(slm2_context *context, const slm2_session *session, uint8_t *json, size_t capacity, size_t *length);

// A function of `SLM2_EXP` and so on of each of some float64, in their place: what a host compares with the bits of another.
slm2_status slm2_portable(slm2_context *context, uint32_t function, double *values, size_t count);

// The row of logits of a recipe (S-70).
slm2_status slm2_recipe_logits(slm2_context *context,
                               uint64_t seed,
                               uint64_t step,
                               double scale,
                               double head,
                               uint32_t bfloat16,
                               float *logits,
                               size_t width);

// The history of a recipe: `count` ids below `width` (S-73).
slm2_status slm2_recipe_history(slm2_context *context, uint64_t seed, size_t width, uint32_t *ids, size_t count);

// The SHA-256 of bytes, 32 bytes to `digest`.
slm2_status slm2_sha256(slm2_context *context, const uint8_t *bytes, size_t length, uint8_t *digest);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SLM2_H */
