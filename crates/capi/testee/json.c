#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *text;
    size_t at, length;
    int wrong;
} reader;

static void value(reader *from, json *to, int depth);

static void *reserved(void *memory, size_t size) {
    memory = realloc(memory, size);
    if (memory == NULL) {
        fputs("testee: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

void append(buffer *to, const void *bytes, size_t length) {
    if (to->length + length + 1 > to->capacity) {
        to->capacity = 2 * (to->length + length + 32);
        to->bytes = reserved(to->bytes, to->capacity);
    }
    if (length > 0) {
        memcpy(to->bytes + to->length, bytes, length);
    }
    to->length += length;
    to->bytes[to->length] = 0;
}

void appendf(buffer *to, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    append(to, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
}

void append_text(buffer *to, const char *text, size_t length) {
    append(to, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\') {
            appendf(to, "\\%c", byte);
        } else if (byte < 0x20) {
            appendf(to, "\\u%04x", byte);
        } else {
            append(to, text + i, 1);
        }
    }
    append(to, "\"", 1);
}

void append_ids(buffer *to, const uint32_t *ids, size_t count) {
    append(to, "[", 1);
    for (size_t i = 0; i < count; i++) {
        appendf(to, i > 0 ? ", %u" : "%u", ids[i]);
    }
    append(to, "]", 1);
}

void append_hex(buffer *to, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        appendf(to, "%02x", bytes[i]);
    }
}

void append_base64(buffer *to, const uint8_t *bytes, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        uint32_t held = (uint32_t)bytes[i] << 16;
        held |= i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0;
        held |= i + 2 < length ? bytes[i + 2] : 0;
        char four[4] = {digits[held >> 18], digits[held >> 12 & 63], '=', '='};
        four[2] = i + 1 < length ? digits[held >> 6 & 63] : '=';
        four[3] = i + 2 < length ? digits[held & 63] : '=';
        append(to, four, 4);
    }
}

void append_raw(buffer *to, const json *value) {
    if (value == NULL) {
        append(to, "null", 4);
    } else {
        append(to, value->raw, value->raw_length);
    }
}

void append_scalar(buffer *to, uint32_t scalar) {
    char bytes[4];
    if (scalar < 0x80) {
        bytes[0] = (char)scalar;
        append(to, bytes, 1);
    } else if (scalar < 0x800) {
        bytes[0] = (char)(0xC0 | scalar >> 6);
        bytes[1] = (char)(0x80 | (scalar & 63));
        append(to, bytes, 2);
    } else if (scalar < 0x10000) {
        bytes[0] = (char)(0xE0 | scalar >> 12);
        bytes[1] = (char)(0x80 | (scalar >> 6 & 63));
        bytes[2] = (char)(0x80 | (scalar & 63));
        append(to, bytes, 3);
    } else {
        bytes[0] = (char)(0xF0 | scalar >> 18);
        bytes[1] = (char)(0x80 | (scalar >> 12 & 63));
        bytes[2] = (char)(0x80 | (scalar >> 6 & 63));
        bytes[3] = (char)(0x80 | (scalar & 63));
        append(to, bytes, 4);
    }
}

static int skip(reader *from) {
    while (from->at < from->length && strchr(" \t\r\n", from->text[from->at]) != NULL) {
        from->at++;
    }
    return from->at < from->length ? (unsigned char)from->text[from->at] : 0;
}

static int take(reader *from, char mark) {
    if (skip(from) != mark) {
        return 0;
    }
    from->at++;
    return 1;
}

static int unit(reader *from, uint32_t *to) {
    char digits[5] = {0}, *end;
    if (from->at + 6 > from->length || from->text[from->at] != '\\' || from->text[from->at + 1] != 'u') {
        return 0;
    }
    memcpy(digits, from->text + from->at + 2, 4);
    *to = (uint32_t)strtoul(digits, &end, 16);
    if (*end != 0) {
        return 0;
    }
    from->at += 6;
    return 1;
}

static void escaped(reader *from, buffer *to) {
    static const char marks[] = "\"\\/bfnrt", units[] = "\"\\/\b\f\n\r\t";
    uint32_t high = 0, low = 0;
    char mark = from->at + 1 < from->length ? from->text[from->at + 1] : 0;
    const char *place = mark != 0 ? strchr(marks, mark) : NULL;
    if (place != NULL) {
        append(to, units + (place - marks), 1);
        from->at += 2;
    } else if (!unit(from, &high)) {
        from->wrong = 1;
        from->at = from->length;
    } else if (high < 0xD800 || high > 0xDFFF) {
        append_scalar(to, high);
    } else {
        size_t before = from->at;
        if (high < 0xDC00 && unit(from, &low) && low >= 0xDC00 && low <= 0xDFFF) {
            append_scalar(to, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        } else {
            from->at = before;
            append_scalar(to, 0xFFFD);
        }
    }
}

/* After the quotation mark, to the one that ends it. */
static void string(reader *from, json *to) {
    buffer text = {NULL, 0, 0};
    append(&text, "", 0);
    while (from->at < from->length && from->text[from->at] != '"') {
        if (from->text[from->at] == '\\') {
            escaped(from, &text);
            continue;
        }
        size_t start = from->at;
        while (from->at < from->length && from->text[from->at] != '"' && from->text[from->at] != '\\') {
            from->at++;
        }
        append(&text, from->text + start, from->at - start);
    }
    from->wrong |= from->at == from->length;
    from->at++;
    to->text = text.bytes;
    to->length = text.length;
}

static json *added(json *to) {
    if ((to->count & (to->count - 1)) == 0) {
        to->items = reserved(to->items, (to->count == 0 ? 1 : 2 * to->count) * sizeof *to->items);
    }
    json *item = &to->items[to->count++];
    memset(item, 0, sizeof *item);
    return item;
}

static void elements(reader *from, json *to, char end, int depth) {
    if (take(from, end)) {
        return;
    }
    do {
        json *item = added(to);
        json key = {0};
        if (to->kind == JSON_OBJECT) {
            from->wrong |= !take(from, '"');
            string(from, &key);
            from->wrong |= !take(from, ':');
        }
        value(from, item, depth + 1);
        item->key = key.text;
    } while (!from->wrong && take(from, ','));
    from->wrong |= !take(from, end);
}

static void word(reader *from, json *to, const char *name, json_kind kind) {
    size_t length = strlen(name);
    from->wrong |= from->length - from->at < length || memcmp(from->text + from->at, name, length) != 0;
    from->at += length;
    to->kind = kind;
}

static void value(reader *from, json *to, int depth) {
    int mark = skip(from);
    size_t start = from->at;
    to->raw = from->text + start;
    if (depth > 200) {
        from->wrong = 1;
        return;
    }
    if (mark == '{' || mark == '[') {
        from->at++;
        to->kind = mark == '{' ? JSON_OBJECT : JSON_ARRAY;
        elements(from, to, mark == '{' ? '}' : ']', depth);
    } else if (mark == '"') {
        from->at++;
        to->kind = JSON_TEXT;
        string(from, to);
    } else if (mark == 't') {
        word(from, to, "true", JSON_TRUE);
    } else if (mark == 'f') {
        word(from, to, "false", JSON_FALSE);
    } else if (mark == 'n') {
        word(from, to, "null", JSON_NULL);
    } else {
        to->kind = JSON_NUMBER;
        while (from->at < from->length && strchr("+-.eE0123456789", from->text[from->at]) != NULL) {
            from->at++;
        }
        from->wrong |= from->at == start;
    }
    to->raw_length = from->at > start ? from->at - start : 0;
}

static void emptied(json *value) {
    for (size_t i = 0; i < value->count; i++) {
        free((char *)value->items[i].key);
        emptied(&value->items[i]);
    }
    free(value->items);
    free(value->text);
}

json *json_read(const char *text, size_t length) {
    reader from = {text, 0, length, 0};
    json *to = reserved(NULL, sizeof *to);
    memset(to, 0, sizeof *to);
    value(&from, to, 0);
    if (from.wrong || skip(&from) != 0) {
        json_free(to);
        return NULL;
    }
    return to;
}

void json_free(json *value) {
    if (value != NULL) {
        emptied(value);
        free(value);
    }
}

const json *json_member(const json *object, const char *key) {
    for (size_t i = 0; object != NULL && object->kind == JSON_OBJECT && i < object->count; i++) {
        if (strcmp(object->items[i].key, key) == 0) {
            return &object->items[i];
        }
    }
    return NULL;
}
