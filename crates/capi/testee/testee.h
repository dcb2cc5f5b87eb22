/* What the methods of the testee share (contract/conformance.md). */
#ifndef TESTEE_H
#define TESTEE_H

#include "json.h"
#include "slm2.h"

/* Of the call at hand. */
extern slm2_context *context;
extern slm2_contract *contract;
extern buffer out;

typedef void (*method)(const json *params);
typedef struct {
    const char *name;
    method call;
} entry;

/* Each ends with an entry without a name. */
extern const entry texts[], chats[], draws[], sweeps[];

/* Leave the call: it cannot be answered. */
_Noreturn void fail(const char *reason);
/* Leave the call where the library refused it. */
void check(slm2_status status);
/* The result of a call that was given no room. */
const void *result(slm2_status status, size_t *length);
const uint32_t *result_ids(slm2_status status, size_t *count);
/* The result as JSON; to be freed. */
json *result_json(slm2_status status);
/* Write what a call of several writes, or its refusal. */
void outcome(void (*call)(const json *part, void *state), const json *part, void *state);

const json *param(const json *params, const char *name);
const char *text_param(const json *params, const char *name);
uint64_t integer(const json *value);
uint64_t integer_param(const json *params, const char *name, uint64_t otherwise);
double number_param(const json *params, const char *name);
uint32_t profile_param(const json *params);
uint32_t on_special_param(const json *params);
uint32_t special_param(const json *params);
/* Memory that the end of the call frees. */
void *room(size_t size);
uint32_t *ids_of(const json *array, size_t *count);
uint8_t *hex_bytes(const json *text, size_t *length);
/* A text: `text`, `utf16` or `base64`. Where `held` is not NULL a high surrogate at the end waits in it for the next part. */
uint8_t *input(const json *params, size_t *length, uint32_t *held);
/* Bytes of a result: text where they are well-formed UTF-8, else base64. */
void append_shown(const uint8_t *bytes, size_t length);
void append_bits(double value);
/* The beginning of a SHA-256 in hex digits. */
void append_sha256(const void *bytes, size_t length, size_t shown);

#endif
