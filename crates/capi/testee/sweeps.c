/* What no vector asks: other artifacts, everything there is of a kind, memory. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "testee.h"

static void open_other(const json *params) {
    slm2_contract *other = NULL;
    size_t length = 0;
    const uint8_t *bytes = input(params, &length, NULL);
    check(slm2_contract_open(context, bytes, length, &other));
    slm2_status status = slm2_contract_info(context, other, NULL, 0, &length);
    slm2_contract_free(other);
    json *info = result_json(status);
    appendf(&out, "{\"semantic_digest\": ");
    append_raw(&out, json_member(info, "semantic_digest"));
    appendf(&out, ", \"file_digest\": ");
    append_raw(&out, json_member(info, "file_digest"));
    appendf(&out, "}");
    json_free(info);
}

static void special_tokens(const json *params) {
    size_t length = 0;
    (void)params;
    json *info = result_json(slm2_contract_info(context, contract, NULL, 0, &length));
    appendf(&out, "{\"tokens\": ");
    append_raw(&out, json_member(info, "special_tokens"));
    appendf(&out, "}");
    json_free(info);
}

static void number(buffer *to, size_t value) {
    uint32_t number = (uint32_t)value;
    append(to, &number, sizeof number);
}

static void token(buffer *to, uint32_t id, const void *bytes, size_t length) {
    number(to, id);
    number(to, length);
    append(to, bytes, length);
}

static void encoded(buffer *to, uint32_t profile, const void *text, size_t length) {
    size_t count = 0;
    const uint32_t *ids = result_ids(slm2_encode(context, contract, profile, SLM2_ON_SPECIAL_LITERAL, text, length, NULL, 0, &count), &count);
    number(to, count);
    append(to, ids, count * sizeof *ids);
}

static void append_digest(const char *name, buffer *of) {
    appendf(&out, "\"%s\": \"", name);
    append_sha256(of->bytes, of->length, 32);
    appendf(&out, "\"");
    free(of->bytes);
}

static void tokens(const json *params) {
    buffer bytes = {NULL, 0, 0}, decoded = {NULL, 0, 0}, ids = {NULL, 0, 0}, texts_encoded = {NULL, 0, 0};
    uint32_t last = (uint32_t)integer_param(params, "last", 0);
    for (uint32_t id = (uint32_t)integer_param(params, "first", 0); id <= last; id++) {
        char text[1024];
        uint32_t found = 0;
        size_t length = 0, decoded_length = 0;
        check(slm2_token_bytes(context, contract, id, (uint8_t *)text, sizeof text, &length));
        token(&bytes, id, text, length);
        const void *again = result(slm2_decode(context, contract, SLM2_SPECIAL_BYTES, &id, 1, NULL, 0, &decoded_length), &decoded_length);
        token(&decoded, id, again, decoded_length);
        check(slm2_token_id(context, contract, (const uint8_t *)text, length, &found));
        number(&ids, found);
        encoded(&texts_encoded, SLM2_PROFILE_CONTRACT, text, length);
    }
    appendf(&out, "{");
    append_digest("bytes", &bytes);
    appendf(&out, ", ");
    append_digest("decoded", &decoded);
    appendf(&out, ", ");
    append_digest("ids", &ids);
    appendf(&out, ", ");
    append_digest("encoded", &texts_encoded);
    appendf(&out, "}");
}

static void scalars(const json *params) {
    static const char *const around[][2] = {{"", ""}, {"a", "b"}, {" ", " "}, {"\n", "\n"}};
    buffer stream = {NULL, 0, 0}, text = {NULL, 0, 0};
    uint32_t profile = profile_param(params), last = (uint32_t)integer_param(params, "last", 0);
    for (uint32_t scalar = (uint32_t)integer_param(params, "first", 0); scalar <= last; scalar++) {
        for (size_t i = 0; i < 4 && (scalar < 0xD800 || scalar > 0xDFFF); i++) {
            text.length = 0;
            append(&text, around[i][0], strlen(around[i][0]));
            append_scalar(&text, scalar);
            append(&text, around[i][1], strlen(around[i][1]));
            encoded(&stream, profile, text.bytes, text.length);
        }
    }
    appendf(&out, "{");
    append_digest("sha256", &stream);
    appendf(&out, "}");
    free(text.bytes);
}

/* The peak of the process, as the kernel counts it: in kilobytes. */
static void memory(const json *params) {
    struct rusage usage;
    (void)params;
    getrusage(RUSAGE_SELF, &usage);
    appendf(&out, "{\"bytes\": %ld, \"measured\": \"process\"}", usage.ru_maxrss * 1024);
}

const entry sweeps[] = {
    {"open", open_other}, {"special_tokens", special_tokens}, {"tokens", tokens}, {"scalars", scalars}, {"memory", memory}, {NULL, NULL},
};
