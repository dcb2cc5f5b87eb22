/* Calls every function of slm2.h: as it is meant, with NULL in each place, with too little room. tests/hosts/test_c.py compiles and runs it.
 *
 *     abi ARTIFACT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slm2.h"

static slm2_context *context;
static slm2_contract *contract;
static int checks, failures;
static char text[1 << 16];

#define CHECK(condition) check((condition), #condition, __LINE__)
#define OK(call) CHECK((call) == SLM2_OK)
/* Refused, with this code of contract/errors.toml. */
#define REFUSED(call, code) refused((call), code, #call, __LINE__)
/* Refused since an address is NULL. */
#define NULL_REFUSED(call) REFUSED(call, "invalid_value")

static void check(int holds, const char *what, int line) {
    checks++;
    if (!holds) {
        failures++;
        fprintf(stderr, "abi.c:%d: %s\n", line, what);
    }
}

static const char *last_error(void) {
    size_t length = 0;
    if (slm2_error(context, (uint8_t *)text, sizeof text - 1, &length) != SLM2_OK) {
        return "";
    }
    text[length] = 0;
    return text;
}

static void refused(slm2_status status, const char *code, const char *call, int line) {
    char begin[128];
    snprintf(begin, sizeof begin, "{\"code\": \"%s\", \"fields\": {", code);
    const char *error = last_error();
    check(status == SLM2_REFUSED && strncmp(error, begin, strlen(begin)) == 0, call, line);
    check(strstr(error, "\"message\": \"") != NULL, "there is a message", line);
}

static const uint8_t *bytes(const char *string) { return (const uint8_t *)string; }

static int same_ids(const uint32_t *ids, size_t count, size_t wanted, const uint32_t *expected) {
    return count == wanted && memcmp(ids, expected, wanted * sizeof *ids) == 0;
}

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        exit(2);
    }
    *length = (size_t)ftell(file);
    uint8_t *content = malloc(*length);
    rewind(file);
    if (content == NULL || fread(content, 1, *length, file) != *length) {
        exit(2);
    }
    fclose(file);
    return content;
}

static void contexts(void) {
    size_t length = 7;
    uint8_t out[8];
    const void *view = NULL;
    CHECK(slm2_abi_version() == SLM2_ABI_VERSION);
    CHECK(slm2_error(NULL, out, 8, &length) == SLM2_NO_CONTEXT);
    CHECK(slm2_result(NULL, out, 8, &length) == SLM2_NO_CONTEXT);
    CHECK(slm2_result_view(NULL, &view, &length) == SLM2_NO_CONTEXT);
    CHECK(slm2_context_set_max_pretoken(NULL, 1000) == SLM2_NO_CONTEXT);
    OK(slm2_error(context, out, 8, &length));
    CHECK(length == 4 && memcmp(out, "null", 4) == 0);
    CHECK(slm2_error(context, NULL, 0, &length) == SLM2_TOO_SMALL && length == 4);
    CHECK(slm2_error(context, NULL, 8, &length) == SLM2_REFUSED);
    CHECK(slm2_error(context, out, 8, NULL) == SLM2_REFUSED);
    OK(slm2_result(context, NULL, 0, &length));
    CHECK(length == 0);
    CHECK(slm2_result_view(context, NULL, &length) == SLM2_REFUSED);
    CHECK(slm2_result_view(context, &view, NULL) == SLM2_REFUSED);
    REFUSED(slm2_context_set_max_pretoken(context, 1), "limit_out_of_range");
    OK(slm2_context_set_max_pretoken(context, 1000));
    slm2_context_free(NULL);
    void *memory = slm2_alloc(0);
    CHECK(memory != NULL);
    slm2_free(memory, 0);
    slm2_free(NULL, 5);
    CHECK(slm2_alloc(SIZE_MAX / 2) == NULL);
}

static void contracts(const char *path) {
    size_t length = 0, size = 0;
    uint8_t *artifact = read_file(path, &size);
    slm2_contract *other = NULL;
    NULL_REFUSED(slm2_contract_open(context, NULL, 5, &other));
    NULL_REFUSED(slm2_contract_open(context, artifact, size, NULL));
    CHECK(slm2_contract_open(NULL, artifact, size, &other) == SLM2_NO_CONTEXT);
    other = (slm2_contract *)artifact;
    REFUSED(slm2_contract_open(context, artifact, 10, &other), "artifact_truncated");
    CHECK(other == NULL);
    artifact[size - 40] ^= 1;
    REFUSED(slm2_contract_open(context, artifact, size, &other), "artifact_file_digest");
    artifact[size - 40] ^= 1;
    OK(slm2_contract_open(context, artifact, size, &contract));

    void *memory = slm2_alloc(size);
    memcpy(memory, artifact, size);
    NULL_REFUSED(slm2_contract_adopt(context, NULL, size, &other));
    OK(slm2_contract_adopt(context, memory, size, &other));
    slm2_chunks *chunks = NULL;
    OK(slm2_chunks_new(context, other, SLM2_PROFILE_CONTRACT, &chunks));
    slm2_contract_free(other);
    uint32_t ids[4];
    OK(slm2_chunks_push(context, chunks, bytes("Hello, "), 7, ids, 4, &length)); /* it outlives the handle of the contract */
    CHECK(length == 2);
    slm2_chunks_free(chunks);
    memory = slm2_alloc(64);
    REFUSED(slm2_contract_adopt(context, memory, 64, &other), "artifact_truncated"); /* and is freed */
    slm2_contract_free(NULL);
    free(artifact);

    OK(slm2_contract_info(context, contract, (uint8_t *)text, sizeof text - 1, &length));
    text[length] = 0;
    CHECK(strstr(text, "\"contract_version\": 1, \"vocabulary_size\": 151643, \"token_limit\": 151669, ") != NULL);
    CHECK(strstr(text, "[151644, \"<|im_start|>\"]") != NULL);
    NULL_REFUSED(slm2_contract_info(context, NULL, (uint8_t *)text, sizeof text, &length));
    CHECK(slm2_contract_template_section(context, contract, NULL, 0, &length) == SLM2_TOO_SMALL && length > 100);
    NULL_REFUSED(slm2_contract_template_section(context, NULL, NULL, 0, &length));
}

static void tokenizer(void) {
    static const uint32_t hello[] = {9707, 11, 1879}, marked[] = {27, 91, 318, 6213, 91, 29}, mark[] = {151645};
    const uint8_t *greeting = bytes("Hello, world");
    uint32_t ids[16] = {0};
    size_t count = 0;
    OK(slm2_encode(context, contract, SLM2_PROFILE_CONTRACT, SLM2_ON_SPECIAL_LITERAL, greeting, 12, ids, 16, &count));
    CHECK(same_ids(ids, count, 3, hello));
    OK(slm2_encode(context, contract, SLM2_PROFILE_PUBLISHER, SLM2_ON_SPECIAL_REJECT, greeting, 12, ids, 16, &count));
    CHECK(same_ids(ids, count, 3, hello));
    OK(slm2_encode(context, contract, 0, 0, bytes("<|im_end|>"), 10, ids, 16, &count));
    CHECK(same_ids(ids, count, 6, marked));
    OK(slm2_encode(context, contract, 0, 0, NULL, 0, NULL, 0, &count));
    CHECK(count == 0);

    /* Too little room: nothing is written, and the result waits. */
    ids[0] = 77;
    CHECK(slm2_encode(context, contract, 0, 0, greeting, 12, ids, 2, &count) == SLM2_TOO_SMALL && count == 3 && ids[0] == 77);
    CHECK(strstr(last_error(), "\"code\": \"output_too_small\", \"fields\": {\"needed\": 3, \"found\": 2}") != NULL);
    const void *view = NULL;
    size_t length = 0;
    OK(slm2_result_view(context, &view, &length));
    CHECK(length == 12 && memcmp(view, hello, 12) == 0);
    CHECK(slm2_result(context, ids, 8, &length) == SLM2_TOO_SMALL && ids[0] == 77);
    OK(slm2_result(context, ids, sizeof ids, &length));
    CHECK(same_ids(ids, length / 4, 3, hello));

    REFUSED(slm2_encode(context, contract, 0, SLM2_ON_SPECIAL_REJECT, bytes("a<|im_end|>"), 11, ids, 16, &count), "special_token_in_text");
    CHECK(strstr(last_error(), "\"findings\": [{\"offset\": 1, \"id\": 151645, \"text\": \"<|im_end|>\"}]") != NULL);
    static char long_word[2000];
    memset(long_word, 'a', sizeof long_word);
    REFUSED(slm2_encode(context, contract, 0, 0, bytes(long_word), sizeof long_word, ids, 16, &count), "pretoken_too_long");
    REFUSED(slm2_encode(context, contract, 2, 0, greeting, 12, ids, 16, &count), "invalid_value");
    REFUSED(slm2_encode(context, contract, 0, 2, greeting, 12, ids, 16, &count), "invalid_value");
    NULL_REFUSED(slm2_encode(context, NULL, 0, 0, greeting, 12, ids, 16, &count));
    NULL_REFUSED(slm2_encode(context, contract, 0, 0, NULL, 12, ids, 16, &count));
    NULL_REFUSED(slm2_encode(context, contract, 0, 0, greeting, 12, NULL, 16, &count));
    NULL_REFUSED(slm2_encode(context, contract, 0, 0, greeting, 12, ids, 16, NULL));
    CHECK(slm2_encode(NULL, contract, 0, 0, greeting, 12, ids, 16, &count) == SLM2_NO_CONTEXT);

    slm2_span spans[8];
    const char *mixed = "na\xc3\xafve \xe4\xb8\xad\xe6\x96\x87"; /* naïve 中文 */
    static const slm2_span points[] = {{3376, 0, 2}, {37572, 2, 3}, {586, 3, 5}, {72858, 5, 7}, {16744, 7, 8}};
    OK(slm2_encode_spans(context, contract, 0, 0, SLM2_UNIT_CODE_POINTS, bytes(mixed), 13, spans, 8, &count));
    CHECK(count == 5 && memcmp(spans, points, sizeof points) == 0);
    OK(slm2_encode_spans(context, contract, 0, 0, SLM2_UNIT_BYTES, bytes(mixed), 13, spans, 8, &count));
    CHECK(count == 5 && spans[4].start == 10 && spans[4].end == 13);
    OK(slm2_encode_spans(context, contract, 0, 0, SLM2_UNIT_UTF16, bytes(mixed), 13, spans, 8, &count));
    REFUSED(slm2_encode_spans(context, contract, 0, 0, 3, bytes(mixed), 13, spans, 8, &count), "invalid_value");
    CHECK(slm2_encode_spans(context, contract, 0, 0, 0, bytes(mixed), 13, spans, 1, &count) == SLM2_TOO_SMALL && count == 5);
    OK(slm2_result(context, spans, sizeof spans, &length));
    CHECK(length == 5 * sizeof *spans && spans[0].id == 3376);
    NULL_REFUSED(slm2_encode_spans(context, NULL, 0, 0, 0, bytes(mixed), 13, spans, 8, &count));

    OK(slm2_count(context, contract, 0, greeting, 12, &count));
    CHECK(count == 3);
    NULL_REFUSED(slm2_count(context, contract, 0, greeting, 12, NULL));
    NULL_REFUSED(slm2_count(context, NULL, 0, greeting, 12, &count));
    OK(slm2_count_until(context, contract, 0, greeting, 12, 3, &count));
    CHECK(count == 3);
    OK(slm2_count_until(context, contract, 0, greeting, 12, 2, &count));
    CHECK(count == SIZE_MAX);
    NULL_REFUSED(slm2_count_until(context, NULL, 0, greeting, 12, 2, &count));

    OK(slm2_encode_trusted(context, contract, 0, bytes("<|im_end|>"), 10, ids, 16, &count));
    CHECK(same_ids(ids, count, 1, mark));
    CHECK(slm2_encode_trusted(context, contract, 0, bytes("<|im_end|>"), 10, NULL, 0, &count) == SLM2_TOO_SMALL && count == 1);
    NULL_REFUSED(slm2_encode_trusted(context, NULL, 0, bytes("<|im_end|>"), 10, ids, 16, &count));
    OK(slm2_find_special(context, contract, bytes("a<|im_end|>"), 11, spans, 8, &count));
    CHECK(count == 1 && spans[0].id == 151645 && spans[0].start == 1 && spans[0].end == 11);
    NULL_REFUSED(slm2_find_special(context, NULL, bytes("a"), 1, spans, 8, &count));

    uint8_t out[32];
    OK(slm2_decode(context, contract, SLM2_SPECIAL_REFUSE, hello, 3, out, 32, &length));
    CHECK(length == 12 && memcmp(out, greeting, 12) == 0);
    REFUSED(slm2_decode(context, contract, SLM2_SPECIAL_REFUSE, mark, 1, out, 32, &length), "structural_id");
    OK(slm2_decode(context, contract, SLM2_SPECIAL_SKIP, mark, 1, out, 32, &length));
    CHECK(length == 0);
    CHECK(slm2_decode(context, contract, SLM2_SPECIAL_BYTES, mark, 1, out, 9, &length) == SLM2_TOO_SMALL && length == 10);
    REFUSED(slm2_decode(context, contract, 3, mark, 1, out, 32, &length), "invalid_value");
    uint32_t no_token = 151669;
    REFUSED(slm2_decode(context, contract, 0, &no_token, 1, out, 32, &length), "token_id_out_of_range");
    NULL_REFUSED(slm2_decode(context, contract, 0, NULL, 1, out, 32, &length));
    NULL_REFUSED(slm2_decode(context, NULL, 0, hello, 3, out, 32, &length));
    OK(slm2_token_bytes(context, contract, 1879, out, 32, &length));
    CHECK(length == 6 && memcmp(out, " world", 6) == 0);
    REFUSED(slm2_token_bytes(context, contract, SLM2_NO_ID, out, 32, &length), "token_id_out_of_range");
    NULL_REFUSED(slm2_token_bytes(context, NULL, 1879, out, 32, &length));
    OK(slm2_token_id(context, contract, bytes(" world"), 6, ids));
    CHECK(ids[0] == 1879);
    OK(slm2_token_id(context, contract, bytes("<|im_end|>"), 10, ids));
    CHECK(ids[0] == SLM2_NO_ID);
    NULL_REFUSED(slm2_token_id(context, contract, bytes("a"), 1, NULL));
    NULL_REFUSED(slm2_token_id(context, NULL, bytes("a"), 1, ids));
}

static void texts_in_parts(void) {
    slm2_chunks *chunks = NULL;
    uint32_t ids[8];
    size_t count = 0, pending = 0, keep = 0;
    OK(slm2_chunks_new(context, contract, SLM2_PROFILE_PUBLISHER, &chunks));
    OK(slm2_chunks_push(context, chunks, bytes("Hel"), 3, ids, 8, &count));
    CHECK(count == 0);
    OK(slm2_chunks_pending(context, chunks, &pending));
    CHECK(pending == 3);
    OK(slm2_chunks_rest(context, chunks, ids, 8, &count));
    CHECK(count == 1);
    CHECK(slm2_chunks_push(context, chunks, bytes("lo, world"), 9, ids, 0, &count) == SLM2_TOO_SMALL && count == 2);
    OK(slm2_result(context, ids, sizeof ids, &count)); /* the call was made: nothing is lost */
    CHECK(ids[0] == 9707 && ids[1] == 11);
    OK(slm2_chunks_finish(context, chunks, ids, 8, &count));
    CHECK(count == 1 && ids[0] == 1879);
    REFUSED(slm2_chunks_push(context, chunks, bytes("x"), 1, ids, 8, &count), "text_closed");
    NULL_REFUSED(slm2_chunks_push(context, chunks, NULL, 1, ids, 8, &count));
    NULL_REFUSED(slm2_chunks_push(context, NULL, bytes("x"), 1, ids, 8, &count));
    NULL_REFUSED(slm2_chunks_rest(context, NULL, ids, 8, &count));
    NULL_REFUSED(slm2_chunks_finish(context, NULL, ids, 8, &count));
    NULL_REFUSED(slm2_chunks_pending(context, NULL, &pending));
    slm2_chunks_free(chunks);
    slm2_chunks_free(NULL);
    NULL_REFUSED(slm2_chunks_new(context, NULL, 0, &chunks));
    NULL_REFUSED(slm2_chunks_new(context, contract, 0, NULL));
    REFUSED(slm2_chunks_new(context, contract, 9, &chunks), "invalid_value");
    CHECK(chunks == NULL);

    slm2_text *grown = NULL, *copy = NULL;
    OK(slm2_text_new(context, contract, 0, &grown));
    OK(slm2_text_append(context, grown, bytes("user\n"), 5, &keep, ids, 8, &count));
    OK(slm2_text_copy(context, grown, &copy));
    OK(slm2_text_append(context, grown, bytes("\nHi"), 3, &keep, ids, 8, &count));
    CHECK(keep == 1 && count == 2 && ids[0] == 271 && ids[1] == 13048);
    OK(slm2_text_count(context, grown, &count));
    CHECK(count == 3);
    OK(slm2_text_count(context, copy, &count));
    CHECK(count == 2);
    NULL_REFUSED(slm2_text_append(context, NULL, bytes("x"), 1, &keep, ids, 8, &count));
    NULL_REFUSED(slm2_text_append(context, grown, bytes("x"), 1, NULL, ids, 8, &count));
    NULL_REFUSED(slm2_text_count(context, NULL, &count));
    slm2_text_free(copy);
    NULL_REFUSED(slm2_text_copy(context, NULL, &copy));
    CHECK(copy == NULL);
    slm2_text_free(grown);
    NULL_REFUSED(slm2_text_new(context, NULL, 0, &grown));
}

static void streams(void) {
    slm2_stream *stream = NULL;
    static const uint32_t flag[] = {9285}, half[] = {151643}; /* half: structural */
    uint8_t out[64];
    size_t length = 0;
    uint64_t position = 0;
    uint32_t parts[8];
    size_t count = 0;
    OK(slm2_encode(context, contract, 0, 0, bytes("\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd"), 8, parts, 8, &count));
    CHECK(count >= 2);
    OK(slm2_stream_new(context, contract, SLM2_SPECIAL_REFUSE, &stream));
    OK(slm2_stream_push(context, stream, flag, 1, out, 64, &length));
    CHECK(length > 0);
    OK(slm2_stream_push(context, stream, parts, count, out, 64, &length));
    CHECK(length == 8);
    CHECK(slm2_stream_push(context, stream, flag, 1, out, 0, &length) == SLM2_TOO_SMALL);
    OK(slm2_result(context, out, 64, &length));
    CHECK(length > 0);
    OK(slm2_stream_position(context, stream, &position));
    CHECK(position == 2 + count);
    REFUSED(slm2_stream_push(context, stream, half, 1, out, 64, &length), "structural_id");
    uint32_t continuation = 0;
    OK(slm2_token_id(context, contract, bytes("\x8d"), 1, &continuation));
    REFUSED(slm2_stream_push(context, stream, &continuation, 1, out, 64, &length), "ill_formed_text");
    OK(slm2_stream_pending(context, stream, out, 64, &length));
    CHECK(length == 1 && out[0] == 0x8d);
    REFUSED(slm2_stream_push(context, stream, flag, 1, out, 64, &length), "stream_closed");
    REFUSED(slm2_stream_finish(context, stream), "stream_closed");
    slm2_stream_free(stream);
    OK(slm2_stream_new(context, contract, SLM2_SPECIAL_SKIP, &stream));
    OK(slm2_token_id(context, contract, bytes("\xf0"), 1, &continuation));
    OK(slm2_stream_push(context, stream, &continuation, 1, out, 64, &length));
    REFUSED(slm2_stream_finish(context, stream), "unfinished_text");
    slm2_stream_free(stream);
    OK(slm2_stream_new(context, contract, SLM2_SPECIAL_BYTES, &stream));
    OK(slm2_stream_finish(context, stream));
    slm2_stream_free(stream);
    slm2_stream_free(NULL);
    NULL_REFUSED(slm2_stream_new(context, NULL, 0, &stream));
    NULL_REFUSED(slm2_stream_push(context, NULL, flag, 1, out, 64, &length));
    NULL_REFUSED(slm2_stream_finish(context, NULL));
    NULL_REFUSED(slm2_stream_pending(context, NULL, out, 64, &length));
    NULL_REFUSED(slm2_stream_position(context, NULL, &position));
}

static slm2_status render(uint32_t on_special, const char *request, slm2_rendering **rendering) {
    return slm2_render(context, contract, SLM2_PROFILE_CONTRACT, on_special, bytes(request), strlen(request), rendering);
}

static void templates(void) {
    slm2_rendering *rendering = NULL;
    static const uint32_t expected[] = {151644, 872, 198, 13048, 151645, 198, 151644, 77091, 198};
    uint32_t ids[16];
    size_t count = 0, length = 0;
    OK(render(0, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"add_generation_prompt\": true}", &rendering));
    OK(slm2_rendering_ids(context, rendering, ids, 16, &count));
    CHECK(same_ids(ids, count, 9, expected));
    CHECK(slm2_rendering_ids(context, rendering, ids, 8, &count) == SLM2_TOO_SMALL && count == 9);
    OK(slm2_rendering_json(context, rendering, (uint8_t *)text, sizeof text - 1, &length));
    text[length] = 0;
    CHECK(strstr(text, "{\"input_ids\": [151644, 872, ") == text && strstr(text, "\"findings\": [], \"policy_findings\": 0, ") != NULL);
    char state[64];
    const char *at = strstr(text, "\"state\": \"");
    CHECK(at != NULL && sscanf(at, "\"state\": \"%63[A-Z_0-9a-z]\"", state) == 1);
    OK(slm2_rendering_tokens(context, rendering, (uint8_t *)text, sizeof text - 1, &length));
    text[length] = 0;
    CHECK(strstr(text, "[13048, \"user\", \"content\", \"untrusted\", 0, [[\"messages[0].content\", 0, 2]]]") != NULL);
    slm2_rendering_free(rendering);
    slm2_rendering_free(NULL);
    REFUSED(render(0, "{\"messages\": []}", &rendering), "empty_conversation");
    CHECK(rendering == NULL);
    REFUSED(render(0, "{\"messages\": [", &rendering), "json_invalid");
    REFUSED(render(0, "{\"messages\": [{\"role\": \"user\", \"content\": \"a\", \"content\": \"b\"}]}", &rendering), "json_duplicate_key");
    REFUSED(render(SLM2_ON_SPECIAL_REJECT, "{\"messages\": [{\"role\": \"user\", \"content\": \"<think>\"}]}", &rendering),
            "special_token_in_text");
    CHECK(strstr(last_error(), "{\"source\": \"messages[0].content\", \"offset\": 0, \"id\": 151667, \"text\": \"<think>\"}") != NULL);
    NULL_REFUSED(slm2_render(context, NULL, 0, 0, bytes("{}"), 2, &rendering));
    NULL_REFUSED(slm2_render(context, contract, 0, 0, NULL, 2, &rendering));
    NULL_REFUSED(slm2_render(context, contract, 0, 0, bytes("{}"), 2, NULL));
    NULL_REFUSED(slm2_rendering_ids(context, NULL, ids, 16, &count));
    NULL_REFUSED(slm2_rendering_json(context, NULL, (uint8_t *)text, sizeof text, &length));
    NULL_REFUSED(slm2_rendering_tokens(context, NULL, (uint8_t *)text, sizeof text, &length));

    slm2_reply *reply = NULL;
    OK(slm2_reply_new(context, contract, bytes(state), strlen(state), &reply));
    OK(slm2_encode_trusted(context, contract, 0, bytes("Hello<|im_end|>"), 15, ids, 16, &count));
    OK(slm2_reply_push(context, reply, ids, count, (uint8_t *)text, sizeof text - 1, &length));
    text[length] = 0;
    CHECK(strstr(text, "{\"kind\": \"content\", \"text\": \"Hello\"") != NULL && strstr(text, "\"reason\": \"end_turn\"") != NULL);
    OK(slm2_reply_message(context, reply, (uint8_t *)text, sizeof text - 1, &length));
    text[length] = 0;
    CHECK(strcmp(text, "{\"role\": \"assistant\", \"content\": \"Hello\", \"reasoning_content\": \"\"}") == 0);
    OK(slm2_reply_state(context, reply, (uint8_t *)text, sizeof text, &length));
    CHECK(length > 0);
    OK(slm2_reply_finish(context, reply, (uint8_t *)text, sizeof text, &length));
    REFUSED(slm2_reply_finish(context, reply, (uint8_t *)text, sizeof text, &length), "stream_closed");
    slm2_reply_free(reply);
    OK(slm2_reply_new(context, contract, bytes(state), strlen(state), &reply));
    CHECK(slm2_reply_finish(context, reply, NULL, 0, &length) == SLM2_TOO_SMALL);
    OK(slm2_result(context, text, sizeof text - 1, &length));
    text[length] = 0;
    CHECK(strstr(text, "\"reason\": \"cut\"") != NULL);
    slm2_reply_free(reply);
    slm2_reply_free(NULL);
    REFUSED(slm2_reply_new(context, contract, bytes("nowhere"), 7, &reply), "invalid_value");
    NULL_REFUSED(slm2_reply_new(context, NULL, bytes(state), strlen(state), &reply));
    NULL_REFUSED(slm2_reply_push(context, NULL, ids, 1, (uint8_t *)text, sizeof text, &length));
    NULL_REFUSED(slm2_reply_finish(context, NULL, (uint8_t *)text, sizeof text, &length));
    NULL_REFUSED(slm2_reply_message(context, NULL, (uint8_t *)text, sizeof text, &length));
    NULL_REFUSED(slm2_reply_state(context, NULL, (uint8_t *)text, sizeof text, &length));
}

#define CONFIG(rest)                                                                                                            \
    "{\"profile\": \"contract\", \"temperature\": 0.6, \"top_k\": 20, \"top_p\": 0.95, \"min_p\": 0, \"repetition_penalty\": 1.1, " \
    "\"rng\": \"pcg32\", \"seed\": 7, \"max_tokens\": 64, \"stop_ids\": [151645]" rest "}"

static slm2_status new_sampler(const char *config, size_t width, slm2_sampler **sampler) {
    static const uint32_t seen[] = {1, 2};
    return slm2_sampler_new(context, contract, bytes(config), strlen(config), seen, 2, width, sampler);
}

static void sampling(void) {
    enum { WIDTH = 1000 };
    slm2_sampler *sampler = NULL;
    slm2_sample sample, again;
    slm2_ranked ranked[4];
    static float logits[WIDTH];
    uint32_t ids[WIDTH];
    uint8_t state[64], mask[WIDTH / 8];
    uint64_t position[2] = {9, 9};
    size_t count = 0, length = 0;
    OK(slm2_recipe_logits(context, 5, 0, 2.0, 6.0, 0, logits, WIDTH));
    NULL_REFUSED(slm2_recipe_logits(context, 5, 0, 2.0, 6.0, 0, NULL, WIDTH));
    OK(slm2_recipe_history(context, 5, WIDTH, ids, 3));
    NULL_REFUSED(slm2_recipe_history(context, 5, WIDTH, NULL, 3));

    OK(new_sampler(CONFIG(""), WIDTH, &sampler));
    OK(slm2_sampler_state(context, sampler, state, 64, &length));
    OK(slm2_sampler_sample(context, sampler, logits, WIDTH, NULL, 0, 3, &sample));
    CHECK(sample.id < WIDTH && sample.words == 2 && sample.number_count == 4 && sample.sizes[1] == 20 && sample.sizes[3] >= 1);
    CHECK(fabs(exp(sample.log_probability) - sample.probability) < 1e-12);
    OK(slm2_sampler_top(context, sampler, ranked, 4, &count));
    CHECK(count >= 1 && count <= 3 && ranked[0].probability >= sample.probability);
    OK(slm2_sampler_kept(context, sampler, ids, WIDTH, &count));
    CHECK(count == sample.sizes[3]);
    OK(slm2_sampler_position(context, sampler, position));
    CHECK(position[0] == 2 && position[1] == 0);
    OK(slm2_sampler_advance(context, sampler, 3));
    OK(slm2_sampler_position(context, sampler, position));
    CHECK(position[0] == 5);
    OK(slm2_sampler_restore(context, sampler, state, length));
    OK(slm2_sampler_sample(context, sampler, logits, WIDTH, NULL, 0, 0, &again));
    CHECK(memcmp(sample.numbers, again.numbers, sizeof(double)) == 0);
    OK(slm2_sampler_extend(context, sampler, ids, 1));
    memset(mask, 0, sizeof mask);
    mask[1] = 4; /* id 10 alone */
    OK(slm2_sampler_sample(context, sampler, logits, WIDTH, mask, sizeof mask, 0, &sample));
    CHECK(sample.id == 10 && sample.sizes[3] == 1);

    REFUSED(slm2_sampler_sample(context, sampler, logits, WIDTH, mask, 3, 0, &sample), "allowed_length");
    REFUSED(slm2_sampler_sample(context, sampler, logits, WIDTH - 1, NULL, 0, 0, &sample), "logits_length");
    memset(mask, 0, sizeof mask);
    REFUSED(slm2_sampler_sample(context, sampler, logits, WIDTH, mask, sizeof mask, 0, &sample), "logits_excluded");
    logits[3] = NAN;
    REFUSED(slm2_sampler_sample(context, sampler, logits, WIDTH, NULL, 0, 0, &sample), "logits_invalid");
    logits[3] = 3e38f;
    REFUSED(slm2_sampler_sample(context, sampler, logits, WIDTH, NULL, 0, 0, &sample), "logits_overflow");
    uint32_t far = WIDTH;
    REFUSED(slm2_sampler_extend(context, sampler, &far, 1), "token_id_out_of_range");
    REFUSED(slm2_sampler_restore(context, sampler, state, 5), "generator_state");
    NULL_REFUSED(slm2_sampler_sample(context, NULL, logits, WIDTH, NULL, 0, 0, &sample));
    NULL_REFUSED(slm2_sampler_sample(context, sampler, NULL, WIDTH, NULL, 0, 0, &sample));
    NULL_REFUSED(slm2_sampler_sample(context, sampler, logits, WIDTH, NULL, 0, 0, NULL));
    NULL_REFUSED(slm2_sampler_top(context, NULL, ranked, 4, &count));
    NULL_REFUSED(slm2_sampler_kept(context, NULL, ids, 4, &count));
    NULL_REFUSED(slm2_sampler_extend(context, NULL, ids, 1));
    NULL_REFUSED(slm2_sampler_position(context, NULL, position));
    NULL_REFUSED(slm2_sampler_advance(context, NULL, 1));
    NULL_REFUSED(slm2_sampler_state(context, NULL, state, 64, &length));
    NULL_REFUSED(slm2_sampler_restore(context, NULL, state, 64));
    slm2_sampler_free(sampler);
    slm2_sampler_free(NULL);

    REFUSED(new_sampler(CONFIG(", \"typical_p\": 1"), WIDTH, &sampler), "unknown_field");
    REFUSED(new_sampler("{\"profile\": \"contract\"}", WIDTH, &sampler), "missing_field");
    REFUSED(new_sampler(CONFIG(", \"logit_bias\": {\"5\": \"x\"}"), WIDTH, &sampler), "invalid_type");
    REFUSED(new_sampler(CONFIG(", \"stream\": 18446744073709551616"), WIDTH, &sampler), "invalid_value");
    REFUSED(new_sampler(CONFIG(""), 0, &sampler), "invalid_value");
    REFUSED(new_sampler("1e999", WIDTH, &sampler), "json_number");
    const char *torch = "{\"profile\": \"contract\", \"temperature\": 1, \"top_k\": 0, \"top_p\": 1, \"min_p\": 0, \"repetition_penalty\": 1, "
                        "\"rng\": \"mt19937-torch\", \"seed\": 7, \"max_tokens\": 4, \"stop_ids\": []}";
    REFUSED(new_sampler(torch, WIDTH, &sampler), "sampling_pairing");
    NULL_REFUSED(slm2_sampler_new(context, NULL, bytes(torch), 2, NULL, 0, WIDTH, &sampler));
    NULL_REFUSED(slm2_sampler_new(context, contract, bytes("{}"), 2, NULL, 0, WIDTH, NULL));
    OK(new_sampler(CONFIG(", \"stream\": \"a\", \"logit_bias\": {\"5\": 1.5}, \"banned_ids\": [7], \"stop_strings\": [\"x\"]"), WIDTH, &sampler));
    slm2_sampler_free(sampler);
}

static void generators(void) {
    slm2_generator *generator = NULL;
    static const uint32_t published[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330}; /* pcg32-demo of O'Neill: seed 42, sequence 54 */
    const char *seed = "{\"rng\": \"pcg32\", \"seed\": 42, \"stream\": 54}";
    uint32_t words[3];
    uint64_t position[2];
    uint8_t state[64];
    size_t length = 0;
    double uniform = -1, values[] = {0.0, 1.0};
    OK(slm2_generator_new(context, bytes(seed), strlen(seed), &generator));
    OK(slm2_generator_state(context, generator, state, 64, &length));
    OK(slm2_generator_words(context, generator, words, 3));
    CHECK(memcmp(words, published, sizeof words) == 0);
    OK(slm2_generator_uniform(context, generator, &uniform));
    CHECK(uniform >= 0 && uniform < 1);
    OK(slm2_generator_position(context, generator, position));
    CHECK(position[0] == 5 && position[1] == 0);
    OK(slm2_generator_restore(context, generator, state, length));
    OK(slm2_generator_advance(context, generator, 1));
    OK(slm2_generator_words(context, generator, words, 1));
    CHECK(words[0] == published[1]);
    REFUSED(slm2_generator_restore(context, generator, state, 2), "generator_state");
    NULL_REFUSED(slm2_generator_words(context, generator, NULL, 3));
    NULL_REFUSED(slm2_generator_words(context, NULL, words, 3));
    NULL_REFUSED(slm2_generator_uniform(context, NULL, &uniform));
    NULL_REFUSED(slm2_generator_uniform(context, generator, NULL));
    NULL_REFUSED(slm2_generator_position(context, NULL, position));
    NULL_REFUSED(slm2_generator_position(context, generator, NULL));
    NULL_REFUSED(slm2_generator_advance(context, NULL, 1));
    NULL_REFUSED(slm2_generator_state(context, NULL, state, 64, &length));
    NULL_REFUSED(slm2_generator_restore(context, NULL, state, 64));
    slm2_generator_free(generator);
    slm2_generator_free(NULL);
    REFUSED(slm2_generator_new(context, bytes("{\"rng\": \"philox\", \"seed\": 1}"), 28, &generator), "invalid_value");
    NULL_REFUSED(slm2_generator_new(context, bytes(seed), strlen(seed), NULL));

    OK(slm2_portable(context, SLM2_EXP, values, 2));
    CHECK(values[0] == 1.0 && fabs(values[1] - 2.718281828459045) < 1e-15);
    OK(slm2_portable(context, SLM2_LOG, values, 1));
    OK(slm2_portable(context, SLM2_LOG1P, values, 1));
    CHECK(values[0] == 0.0);
    REFUSED(slm2_portable(context, 3, values, 1), "invalid_value");
    NULL_REFUSED(slm2_portable(context, SLM2_EXP, NULL, 1));
    uint8_t digest[32];
    OK(slm2_sha256(context, bytes("abc"), 3, digest));
    CHECK(digest[0] == 0xba && digest[1] == 0x78 && digest[31] == 0xad); /* FIPS 180-4 */
    NULL_REFUSED(slm2_sha256(context, NULL, 3, digest));
    NULL_REFUSED(slm2_sha256(context, bytes("abc"), 3, NULL));
}

static slm2_status new_generation(uint32_t special, slm2_generation **generation) {
    const char *config = "{\"profile\": \"contract\", \"temperature\": 0, \"top_k\": 0, \"top_p\": 1, \"min_p\": 0, "
                         "\"repetition_penalty\": 1, \"rng\": \"pcg32\", \"seed\": 7, \"max_tokens\": 3, \"stop_ids\": [5]}";
    return slm2_generation_new(context, contract, special, bytes(config), strlen(config), NULL, 0, SLM2_WIDTH, generation);
}

static void generations(void) {
    static float logits[SLM2_WIDTH];
    slm2_generation *generation = NULL;
    slm2_sampler *sampler = NULL;
    slm2_sample sample;
    uint32_t reason = 9, ids[4];
    uint8_t out[32];
    size_t length = 0, count = 0;
#define STEP(capacity) \
    slm2_generation_step(context, generation, logits, SLM2_WIDTH, NULL, 0, 1, &sample, &reason, out, capacity, &length)
    OK(new_generation(SLM2_SPECIAL_REFUSE, &generation));
    logits[9707] = 1; /* Hello */
    OK(STEP(32));
    CHECK(sample.id == 9707 && reason == SLM2_GOES_ON && length == 5 && memcmp(out, "Hello", 5) == 0);
    OK(slm2_generation_sampler(context, generation, &sampler));
    OK(slm2_sampler_kept(context, sampler, ids, 4, &count));
    CHECK(count == 1 && ids[0] == 9707);
    CHECK(STEP(0) == SLM2_TOO_SMALL && sample.id == 9707); /* it was drawn, and its text waits */
    OK(slm2_result(context, out, 32, &length));
    CHECK(length == 5);
    logits[5] = 2;
    OK(STEP(32));
    CHECK(sample.id == 5 && reason == SLM2_STOP_TOKEN && length == 0);
    REFUSED(STEP(32), "generation_ended");
    OK(slm2_generation_result(context, generation, (uint8_t *)text, sizeof text - 1, &length));
    text[length] = 0;
    CHECK(strstr(text, "{\"ids\": [9707, 9707, 5], \"text\": \"HelloHello\", \"reason\": \"StopToken\"") == text);
    slm2_generation_free(generation);
    OK(new_generation(SLM2_SPECIAL_REFUSE, &generation));
    logits[151645] = 3;
    REFUSED(STEP(32), "structural_id");
    slm2_generation_free(generation);
    OK(new_generation(SLM2_SPECIAL_SKIP, &generation));
    NULL_REFUSED(slm2_generation_step(context, generation, NULL, SLM2_WIDTH, NULL, 0, 0, &sample, &reason, out, 32, &length));
    NULL_REFUSED(slm2_generation_step(context, generation, logits, SLM2_WIDTH, NULL, 0, 0, NULL, &reason, out, 32, &length));
    NULL_REFUSED(slm2_generation_step(context, generation, logits, SLM2_WIDTH, NULL, 0, 0, &sample, NULL, out, 32, &length));
    NULL_REFUSED(slm2_generation_step(context, generation, logits, SLM2_WIDTH, NULL, 0, 0, &sample, &reason, out, 32, NULL));
    NULL_REFUSED(slm2_generation_step(context, NULL, logits, SLM2_WIDTH, NULL, 0, 0, &sample, &reason, out, 32, &length));
    OK(slm2_generation_result(context, generation, (uint8_t *)text, sizeof text, &length));
    CHECK(memcmp(text, "{\"ids\": [], ", 12) == 0); /* nothing was drawn that could not be told */
    NULL_REFUSED(slm2_generation_sampler(context, NULL, &sampler));
    NULL_REFUSED(slm2_generation_result(context, NULL, (uint8_t *)text, sizeof text, &length));
    slm2_generation_free(generation);
    slm2_generation_free(NULL);
    REFUSED(new_generation(7, &generation), "invalid_value");
    NULL_REFUSED(slm2_generation_new(context, NULL, 0, bytes("{}"), 2, NULL, 0, SLM2_WIDTH, &generation));
}

static void sessions(void) {
    const char *chat = "[{\"role\": \"user\", \"content\": \"Hi\"}]";
    const uint8_t *messages = bytes(chat), *options = bytes("{\"preserve_thinking\": true}");
    slm2_session *session = NULL, *other = NULL;
    static uint8_t checkpoint[4096];
    uint32_t ids[64];
    size_t length = 0, saved = 0, count = 0;
#define JSON (uint8_t *)text, sizeof text - 1, &length
    OK(slm2_session_new(context, contract, SLM2_PROFILE_CONTRACT, options, strlen((const char *)options), &session));
    OK(slm2_session_extend(context, session, messages, strlen(chat), SLM2_UNSAID, JSON));
    text[length] = 0;
    CHECK(strstr(text, "{\"keep\": 0, \"append\": [151644, 872, 198, 13048, 151645, ") == text);
    OK(slm2_encode_trusted(context, contract, 0, bytes("Hello!<|im_end|>"), 16, ids, 64, &count));
    OK(slm2_session_reply(context, session, ids, count, JSON));
    text[length] = 0;
    CHECK(strstr(text, "{\"kind\": \"content\", \"text\": \"Hello\"") != NULL);
    OK(slm2_session_settled(context, session, JSON));
    OK(slm2_session_settle(context, session, JSON));
    OK(slm2_session_cached_ids(context, session, ids, 64, &count));
    CHECK(count > 9 && ids[0] == 151644);
    OK(slm2_session_messages(context, session, JSON));
    text[length] = 0;
    CHECK(strstr(text, "[{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", ") == text);
    OK(slm2_session_fork(context, session, &other));
    OK(slm2_session_extend(context, other, messages, strlen(chat), 0, JSON));
    slm2_session_free(other);
    OK(slm2_session_save(context, session, checkpoint, sizeof checkpoint, &saved));
    OK(slm2_session_restore(context, contract, checkpoint, saved, &other));
    OK(slm2_session_messages(context, other, JSON));
    slm2_session_free(other);
    checkpoint[saved / 2] ^= 1;
    CHECK(slm2_session_restore(context, contract, checkpoint, saved, &other) == SLM2_REFUSED && other == NULL);
    REFUSED(slm2_session_restore(context, contract, bytes("{}"), 2, &other), "checkpoint_refused");
    REFUSED(slm2_session_reply(context, session, ids, 0, JSON), "no_prompt");
    REFUSED(slm2_session_extend(context, session, bytes("5"), 1, SLM2_UNSAID, JSON), "invalid_type");
    REFUSED(slm2_session_extend(context, session, messages, strlen(chat), 5, JSON), "invalid_value");
    REFUSED(slm2_session_new(context, contract, 0, bytes("{\"x\": 1}"), 8, &other), "unknown_field");
    NULL_REFUSED(slm2_session_new(context, NULL, 0, options, 2, &other));
    NULL_REFUSED(slm2_session_restore(context, NULL, checkpoint, saved, &other));
    NULL_REFUSED(slm2_session_fork(context, NULL, &other));
    NULL_REFUSED(slm2_session_extend(context, NULL, messages, strlen(chat), SLM2_UNSAID, JSON));
    NULL_REFUSED(slm2_session_reply(context, NULL, ids, 1, JSON));
    NULL_REFUSED(slm2_session_settled(context, NULL, JSON));
    NULL_REFUSED(slm2_session_settle(context, NULL, JSON));
    NULL_REFUSED(slm2_session_save(context, NULL, JSON));
    NULL_REFUSED(slm2_session_messages(context, NULL, JSON));
    NULL_REFUSED(slm2_session_cached_ids(context, NULL, ids, 64, &count));
    slm2_session_free(session);
    slm2_session_free(NULL);
}

static void prompts(void) {
    const char *request = "{\"policy\": \"Be brief.\", \"user_turn\": \"Hi\", \"budget\": {\"context\": 512, \"reserve\": 64}}";
    const char *tight = "{\"policy\": \"Be brief.\", \"user_turn\": \"Hi\", \"budget\": {\"context\": 8, \"reserve\": 4}}";
    slm2_assembly *assembly = NULL;
    uint32_t ids[64];
    size_t count = 0, length = 0;
    OK(slm2_assemble(context, contract, SLM2_PROFILE_CONTRACT, SLM2_ON_SPECIAL_LITERAL, bytes(request), strlen(request), &assembly));
    OK(slm2_assembly_ids(context, assembly, ids, 64, &count));
    CHECK(count > 9 && ids[0] == 151644);
    OK(slm2_assembly_json(context, assembly, JSON));
    text[length] = 0;
    CHECK(strstr(text, "\"input_ids\": [151644, ") != NULL && strstr(text, "\"tokens\"") != NULL);
    OK(slm2_assembly_report(context, assembly, JSON));
    text[length] = 0;
    CHECK(strstr(text, "\"input_ids\"") == NULL);
    OK(slm2_assembly_tokens(context, assembly, JSON));
    OK(slm2_assembly_delta(context, assembly, ids, 3, JSON));
    text[length] = 0;
    CHECK(strstr(text, "{\"keep\": 3, \"append\": [") == text);
    slm2_assembly_free(assembly);
    slm2_assembly_free(NULL);
    REFUSED(slm2_assemble(context, contract, 0, 0, bytes(tight), strlen(tight), &assembly), "budget_exceeded");
    CHECK(assembly == NULL);
    REFUSED(slm2_assemble(context, contract, 0, 0, bytes("["), 1, &assembly), "json_invalid");
    NULL_REFUSED(slm2_assemble(context, NULL, 0, 0, bytes(request), strlen(request), &assembly));
    NULL_REFUSED(slm2_assembly_ids(context, NULL, ids, 64, &count));
    NULL_REFUSED(slm2_assembly_json(context, NULL, JSON));
    NULL_REFUSED(slm2_assembly_report(context, NULL, JSON));
    NULL_REFUSED(slm2_assembly_tokens(context, NULL, JSON));
    NULL_REFUSED(slm2_assembly_delta(context, NULL, ids, 3, JSON));
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: abi ARTIFACT\n");
        return 2;
    }
    context = slm2_context_new();
    if (context == NULL) {
        return 2;
    }
    contexts();
    contracts(argv[1]);
    tokenizer();
    texts_in_parts();
    streams();
    templates();
    sampling();
    generators();
    generations();
    sessions();
    prompts();
    slm2_contract_free(contract);
    slm2_context_free(context);
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
