/* JSON of requests and of the library's results: read into a tree, written to a buffer. */
#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <stdint.h>

typedef enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef struct json {
    json_kind kind;
    /* As it is written, for values that are handed on. */
    const char *raw;
    size_t raw_length;
    /* Of a text, in UTF-8, with a zero behind it; a lone surrogate is U+FFFD. */
    char *text;
    size_t length;
    /* Of an array its elements, of an object its members, which have a key. */
    struct json *items;
    size_t count;
    const char *key;
} json;

/* The value of a JSON text, which must stay where it is; NULL where it is none. */
json *json_read(const char *text, size_t length);
void json_free(json *value);
/* A member of an object; NULL where it is not there. */
const json *json_member(const json *object, const char *key);

/* Bytes that grow. */
typedef struct {
    char *bytes;
    size_t length, capacity;
} buffer;

void append(buffer *to, const void *bytes, size_t length);
void appendf(buffer *to, const char *format, ...);
/* A JSON string of UTF-8. */
void append_text(buffer *to, const char *text, size_t length);
void append_ids(buffer *to, const uint32_t *ids, size_t count);
void append_hex(buffer *to, const uint8_t *bytes, size_t length);
void append_base64(buffer *to, const uint8_t *bytes, size_t length);
void append_raw(buffer *to, const json *value);
/* A scalar value in UTF-8. */
void append_scalar(buffer *to, uint32_t scalar);

#endif
