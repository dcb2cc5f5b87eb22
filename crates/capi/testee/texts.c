/* Tokenizer2 and the strict decoder. */
#include <string.h>

#include "testee.h"

static void with_ids(slm2_status status) {
    size_t count = 0;
    const uint32_t *ids = result_ids(status, &count);
    appendf(&out, "{\"ids\": ");
    append_ids(&out, ids, count);
    appendf(&out, "}");
}

static void encode(const json *params) {
    size_t length = 0, count = 0;
    const uint8_t *text = input(params, &length, NULL);
    with_ids(slm2_encode(context, contract, profile_param(params), on_special_param(params), text, length, NULL, 0, &count));
}

static void encode_trusted(const json *params) {
    size_t length = 0, count = 0;
    const uint8_t *text = input(params, &length, NULL);
    with_ids(slm2_encode_trusted(context, contract, profile_param(params), text, length, NULL, 0, &count));
}

static void encode_spans(const json *params) {
    size_t length = 0, count = 0;
    const uint8_t *text = input(params, &length, NULL);
    const char *name = json_member(params, "unit") != NULL ? text_param(params, "unit") : "bytes";
    uint32_t unit = strcmp(name, "utf16") == 0 ? SLM2_UNIT_UTF16 : strcmp(name, "code_points") == 0 ? SLM2_UNIT_CODE_POINTS : SLM2_UNIT_BYTES;
    uint32_t profile = profile_param(params), on_special = on_special_param(params);
    const slm2_span *spans = result(slm2_encode_spans(context, contract, profile, on_special, unit, text, length, NULL, 0, &count), &length);
    appendf(&out, "{\"spans\": [");
    for (size_t i = 0; i < length / sizeof *spans; i++) {
        appendf(&out, "%s[%zu, %zu, %zu]", i > 0 ? ", " : "", spans[i].id, spans[i].start, spans[i].end);
    }
    appendf(&out, "]}");
}

static void encode_into(const json *params) {
    size_t length = 0, count = 0, capacity = (size_t)integer_param(params, "room", 0);
    const uint8_t *text = input(params, &length, NULL);
    uint32_t *ids = room(capacity * sizeof *ids);
    memset(ids, 0xFF, capacity * sizeof *ids);
    slm2_status status = slm2_encode(context, contract, profile_param(params), SLM2_ON_SPECIAL_LITERAL, text, length, ids, capacity, &count);
    /* Here the size is the caller's promise, and its breach a refusal. */
    check(status == SLM2_TOO_SMALL ? SLM2_REFUSED : status);
    appendf(&out, "{\"count\": %zu, \"out\": [", count);
    for (size_t i = 0; i < capacity; i++) {
        appendf(&out, i > 0 ? ", " : "");
        appendf(&out, ids[i] == SLM2_NO_ID ? "null" : "%u", ids[i]);
    }
    appendf(&out, "]}");
}

static void count(const json *params) {
    size_t length = 0, found = 0;
    const uint8_t *text = input(params, &length, NULL);
    check(slm2_count(context, contract, profile_param(params), text, length, &found));
    appendf(&out, "{\"count\": %zu}", found);
}

static void count_until(const json *params) {
    size_t length = 0, found = 0;
    const uint8_t *text = input(params, &length, NULL);
    check(slm2_count_until(context, contract, profile_param(params), text, length, (size_t)integer_param(params, "limit", 0), &found));
    appendf(&out, found == SIZE_MAX ? "{\"count\": null}" : "{\"count\": %zu}", found);
}

typedef struct {
    slm2_chunks *chunks;
    uint32_t held;
} parts;

/* A copy, which the next call leaves alone. */
static uint32_t *kept(const uint32_t *ids, size_t count) {
    uint32_t *copy = room(count * sizeof *copy);
    if (count > 0) {
        memcpy(copy, ids, count * sizeof *copy);
    }
    return copy;
}

static void chunk(const json *part, void *state) {
    parts *to = state;
    size_t length = 0, count = 0, rest = 0, pending = 0;
    const uint8_t *bytes = (const uint8_t *)"\xEF\xBF\xBD";
    int ends = part->kind == JSON_TEXT;
    if (!ends) {
        bytes = input(part, &length, &to->held);
    } else if (to->held != 0) {
        to->held = 0;
        length = 3;
    }
    const uint32_t *ids = result_ids(slm2_chunks_push(context, to->chunks, bytes, length, NULL, 0, &count), &count);
    uint32_t *all = kept(ids, count);
    if (ends) {
        ids = result_ids(slm2_chunks_finish(context, to->chunks, NULL, 0, &rest), &rest);
        uint32_t *both = room((count + rest) * sizeof *both);
        memcpy(both, all, count * sizeof *both);
        memcpy(both + count, kept(ids, rest), rest * sizeof *both);
        all = both;
    }
    check(slm2_chunks_pending(context, to->chunks, &pending));
    appendf(&out, "\"ids\": ");
    append_ids(&out, all, count + rest);
    appendf(&out, ", \"pending\": %zu", pending);
}

static void each(const json *array, void (*call)(const json *part, void *state), void *state) {
    appendf(&out, "{\"calls\": [");
    for (size_t i = 0; i < array->count; i++) {
        appendf(&out, i > 0 ? ", {" : "{");
        outcome(call, &array->items[i], state);
        appendf(&out, "}");
    }
    appendf(&out, "]");
}

static void chunks(const json *params) {
    parts state = {NULL, 0};
    check(slm2_chunks_new(context, contract, profile_param(params), &state.chunks));
    each(param(params, "parts"), chunk, &state);
    appendf(&out, "}");
    slm2_chunks_free(state.chunks);
}

typedef struct {
    slm2_text *text;
    uint32_t *ids;
    size_t count;
} growing;

static void grow(const json *part, void *state) {
    growing *to = state;
    size_t length = 0, keep = 0, found = 0;
    const uint8_t *bytes = input(part, &length, NULL);
    const uint32_t *ids = result_ids(slm2_text_append(context, to->text, bytes, length, &keep, NULL, 0, &found), &found);
    uint32_t *all = room((keep + found) * sizeof *all);
    memcpy(all, to->ids, keep * sizeof *all);
    if (found > 0) {
        memcpy(all + keep, ids, found * sizeof *all);
    }
    to->ids = all;
    to->count = keep + found;
    appendf(&out, "\"keep\": %zu, \"append\": ", keep);
    append_ids(&out, all + keep, found);
}

static void append_parts(const json *params) {
    growing state = {NULL, room(0), 0};
    check(slm2_text_new(context, contract, profile_param(params), &state.text));
    each(param(params, "parts"), grow, &state);
    appendf(&out, ", \"ids\": ");
    append_ids(&out, state.ids, state.count);
    appendf(&out, "}");
    slm2_text_free(state.text);
}

static void find_special(const json *params) {
    size_t length = 0, size = 0, found = 0;
    const uint8_t *text = input(params, &length, NULL);
    const slm2_span *spans = result(slm2_find_special(context, contract, text, length, NULL, 0, &found), &size);
    appendf(&out, "{\"findings\": [");
    for (size_t i = 0; i < size / sizeof *spans; i++) {
        appendf(&out, "%s{\"offset\": %zu, \"id\": %zu, \"text\": ", i > 0 ? ", " : "", spans[i].start, spans[i].id);
        append_text(&out, (const char *)text + spans[i].start, spans[i].end - spans[i].start);
        appendf(&out, "}");
    }
    appendf(&out, "]}");
}

static void decode(const json *params) {
    size_t found = 0, length = 0;
    const uint32_t *ids = ids_of(param(params, "ids"), &found);
    const uint8_t *bytes = result(slm2_decode(context, contract, special_param(params), ids, found, NULL, 0, &length), &length);
    append_shown(bytes, length);
}

static void token_bytes(const json *params) {
    size_t length = 0;
    const uint8_t *bytes = result(slm2_token_bytes(context, contract, (uint32_t)integer_param(params, "token", 0), NULL, 0, &length), &length);
    append_shown(bytes, length);
}

static void token_id(const json *params) {
    size_t length = 0;
    uint32_t id = 0;
    const uint8_t *bytes = input(params, &length, NULL);
    check(slm2_token_id(context, contract, bytes, length, &id));
    appendf(&out, id == SLM2_NO_ID ? "{\"token\": null}" : "{\"token\": %u}", id);
}

static void push(const json *call, void *state) {
    size_t found = 0, length = 0;
    if (call->kind == JSON_TEXT) {
        check(slm2_stream_finish(context, state));
        return;
    }
    const uint32_t *ids = ids_of(call, &found);
    const char *text = result(slm2_stream_push(context, state, ids, found, NULL, 0, &length), &length);
    appendf(&out, "\"text\": ");
    append_text(&out, text, length);
}

static void stream(const json *params) {
    slm2_stream *decoder = NULL;
    size_t length = 0;
    check(slm2_stream_new(context, contract, special_param(params), &decoder));
    const json *calls = param(params, "calls");
    appendf(&out, "{\"calls\": [");
    for (size_t i = 0; i < calls->count; i++) {
        appendf(&out, i > 0 ? ", {" : "{");
        size_t before = out.length;
        outcome(push, &calls->items[i], decoder);
        appendf(&out, out.length > before ? ", \"pending\": \"" : "\"pending\": \"");
        const uint8_t *pending = result(slm2_stream_pending(context, decoder, NULL, 0, &length), &length);
        append_hex(&out, pending, length);
        appendf(&out, "\"}");
    }
    appendf(&out, "]}");
    slm2_stream_free(decoder);
}

const entry texts[] = {
    {"encode", encode},
    {"encode_spans", encode_spans},
    {"encode_into", encode_into},
    {"encode_trusted", encode_trusted},
    {"count", count},
    {"count_until", count_until},
    {"chunks", chunks},
    {"append", append_parts},
    {"find_special", find_special},
    {"decode", decode},
    {"token_bytes", token_bytes},
    {"token_id", token_id},
    {"stream", stream},
    {NULL, NULL},
};
