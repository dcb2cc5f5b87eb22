/* Parameters of a call, and forms of results. */
#include <stdlib.h>
#include <string.h>

#include "testee.h"

const json *param(const json *params, const char *name) {
    const json *found = json_member(params, name);
    if (found == NULL) {
        fail("a parameter is missing");
    }
    return found;
}

const char *text_param(const json *params, const char *name) {
    const json *found = param(params, name);
    if (found->kind != JSON_TEXT) {
        fail("a parameter is no string");
    }
    return found->text;
}

uint64_t integer(const json *value) {
    char *end = NULL;
    uint64_t number = value->kind == JSON_NUMBER ? strtoull(value->raw, &end, 10) : 0;
    if (end != value->raw + value->raw_length || value->raw[0] == '-') {
        fail("a parameter is no integer");
    }
    return number;
}

uint64_t integer_param(const json *params, const char *name, uint64_t otherwise) {
    const json *found = json_member(params, name);
    return found != NULL ? integer(found) : otherwise;
}

double number_param(const json *params, const char *name) {
    const json *found = param(params, name);
    if (found->kind != JSON_NUMBER) {
        fail("a parameter is no number");
    }
    return strtod(found->raw, NULL);
}

static uint32_t one_of(const char *name, const char *const *names, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    fail("a word is not known");
}

uint32_t profile_param(const json *params) {
    static const char *const names[] = {"contract", "publisher"};
    return json_member(params, "profile") == NULL ? SLM2_PROFILE_CONTRACT : one_of(text_param(params, "profile"), names, 2);
}

uint32_t on_special_param(const json *params) {
    static const char *const names[] = {"literal", "reject"};
    return json_member(params, "on_special") == NULL ? SLM2_ON_SPECIAL_LITERAL : one_of(text_param(params, "on_special"), names, 2);
}

uint32_t special_param(const json *params) {
    static const char *const names[] = {"refuse", "skip", "bytes"};
    return one_of(text_param(params, "special"), names, 3);
}

uint32_t *ids_of(const json *array, size_t *count) {
    if (array->kind != JSON_ARRAY) {
        fail("ids are no array");
    }
    uint32_t *ids = room(array->count * sizeof *ids);
    for (size_t i = 0; i < array->count; i++) {
        ids[i] = (uint32_t)integer(&array->items[i]);
    }
    *count = array->count;
    return ids;
}

uint8_t *hex_bytes(const json *text, size_t *length) {
    if (text->kind != JSON_TEXT) {
        fail("a parameter is no string");
    }
    *length = text->length / 2;
    uint8_t *bytes = room(*length);
    for (size_t i = 0; i < *length; i++) {
        char pair[3] = {text->text[2 * i], text->text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return bytes;
}

static void base64_bytes(const json *text, buffer *to) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t held = 0, bits = 0;
    for (size_t i = 0; i < text->length && text->text[i] != '='; i++) {
        const char *place = strchr(digits, text->text[i]);
        if (place == NULL) {
            fail("base64 cannot be read");
        }
        held = held << 6 | (uint32_t)(place - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            uint8_t byte = (uint8_t)(held >> bits);
            append(to, &byte, 1);
        }
    }
}

/* UTF-16 to UTF-8; each unpaired surrogate is U+FFFD. Strings of C have none: this is what an application does that gets its text from a
 * host that has (T-2, T-15). */
static void utf16_bytes(const json *units, buffer *to, uint32_t *held) {
    uint32_t high = held != NULL ? *held : 0;
    if (held != NULL) {
        *held = 0;
    }
    for (size_t i = 0; i < units->count; i++) {
        uint32_t unit = (uint32_t)integer(&units->items[i]);
        if (high != 0 && unit >= 0xDC00 && unit <= 0xDFFF) {
            append_scalar(to, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
            high = 0;
            continue;
        }
        if (high != 0) {
            append_scalar(to, 0xFFFD);
            high = 0;
        }
        if (unit >= 0xD800 && unit <= 0xDBFF) {
            high = unit;
        } else {
            append_scalar(to, unit >= 0xDC00 && unit <= 0xDFFF ? 0xFFFD : unit);
        }
    }
    if (high != 0 && held != NULL) {
        *held = high;
    } else if (high != 0) {
        append_scalar(to, 0xFFFD);
    }
}

uint8_t *input(const json *params, size_t *length, uint32_t *held) {
    buffer bytes = {NULL, 0, 0};
    const json *units = json_member(params, "utf16"), *text = json_member(params, "text");
    if (held != NULL && *held != 0 && units == NULL && !(text != NULL && text->length == 0)) {
        append_scalar(&bytes, 0xFFFD);
        *held = 0;
    }
    if (units != NULL) {
        utf16_bytes(units, &bytes, held);
    } else if (text != NULL) {
        append(&bytes, text->text, text->length);
    } else {
        base64_bytes(param(params, "base64"), &bytes);
    }
    uint8_t *kept = room(bytes.length);
    if (bytes.length > 0) {
        memcpy(kept, bytes.bytes, bytes.length);
    }
    *length = bytes.length;
    free(bytes.bytes);
    return kept;
}

/* Whether bytes are well-formed UTF-8 (Unicode, table 3-7). */
static int well_formed(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length;) {
        uint8_t lead = bytes[i++];
        size_t more = lead < 0x80 ? 0 : lead >= 0xC2 && lead <= 0xDF ? 1 : lead >= 0xE0 && lead <= 0xEF ? 2 : lead >= 0xF0 && lead <= 0xF4 ? 3 : 9;
        uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (more == 9 || length - i < more) {
            return 0;
        }
        for (; more > 0; more--, low = 0x80, high = 0xBF) {
            if (bytes[i] < low || bytes[i++] > high) {
                return 0;
            }
        }
    }
    return 1;
}

void append_shown(const uint8_t *bytes, size_t length) {
    if (well_formed(bytes, length)) {
        appendf(&out, "{\"text\": ");
        append_text(&out, (const char *)bytes, length);
    } else {
        appendf(&out, "{\"base64\": \"");
        append_base64(&out, bytes, length);
        appendf(&out, "\"");
    }
    appendf(&out, "}");
}

void append_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    appendf(&out, "\"%08x%08x\"", (unsigned)(bits >> 32), (unsigned)bits);
}

void append_sha256(const void *bytes, size_t length, size_t shown) {
    uint8_t digest[32];
    check(slm2_sha256(context, bytes, length, digest));
    append_hex(&out, digest, shown);
}
