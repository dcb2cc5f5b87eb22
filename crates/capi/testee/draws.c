/* Sampling2: draws, generators, the portable functions, rows that any host can rebuild. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testee.h"

static float float_of(const json *digits) {
    if (digits->kind != JSON_TEXT) {
        fail("a float is no string");
    }
    uint32_t bits = (uint32_t)strtoul(digits->text, NULL, 16);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void recipe_logits(const json *recipe, uint64_t offset, float *logits, size_t width) {
    uint64_t seed = integer_param(recipe, "seed", 0), step = integer_param(recipe, "step", 0) + offset;
    uint32_t bfloat16 = param(recipe, "bfloat16")->kind == JSON_TRUE;
    check(slm2_recipe_logits(context, seed, step, number_param(recipe, "scale"), number_param(recipe, "head"), bfloat16, logits, width));
}

/* A row: of a recipe, or one value with exceptions. */
static void row(const json *spec, float *logits, size_t width) {
    if (json_member(spec, "recipe") != NULL) {
        recipe_logits(param(spec, "recipe"), 0, logits, width);
        return;
    }
    float fill = float_of(param(spec, "fill"));
    const json *set = param(spec, "set");
    for (size_t i = 0; i < width; i++) {
        logits[i] = fill;
    }
    for (size_t i = 0; i < set->count; i++) {
        size_t id = (size_t)strtoull(set->items[i].key, NULL, 10);
        if (id >= width) {
            fail("an id is outside the row");
        }
        logits[id] = float_of(&set->items[i]);
    }
}

static slm2_sampler *new_sampler(const json *params, size_t *width) {
    slm2_sampler *sampler = NULL;
    size_t count = 0;
    const json *config = param(params, "config");
    const uint32_t *history = ids_of(param(params, "history"), &count);
    *width = (size_t)integer_param(params, "width", 0);
    check(slm2_sampler_new(context, contract, (const uint8_t *)config->text, config->length, history, count, *width, &sampler));
    return sampler;
}

/* The first 16 hex digits of the SHA-256 over the kept ids. */
static void append_kept(const slm2_sampler *sampler) {
    size_t count = 0;
    const uint32_t *ids = result_ids(slm2_sampler_kept(context, sampler, NULL, 0, &count), &count);
    uint32_t *kept = room(count * sizeof *kept);
    if (count > 0) {
        memcpy(kept, ids, count * sizeof *kept);
    }
    appendf(&out, "\"");
    append_sha256(kept, count * sizeof *kept, 8);
    appendf(&out, "\"");
}

static void append_top(const slm2_sampler *sampler) {
    size_t length = 0, count = 0;
    const slm2_ranked *top = result(slm2_sampler_top(context, sampler, NULL, 0, &count), &length);
    for (size_t i = 0; i < length / sizeof *top; i++) {
        appendf(&out, "%s[%u, ", i > 0 ? ", " : "", (unsigned)top[i].id);
        append_bits(top[i].probability);
        appendf(&out, ", ");
        append_bits(top[i].log_probability);
        appendf(&out, "]");
    }
}

static void append_step(const slm2_sampler *sampler, const slm2_sample *drawn) {
    appendf(&out, "{\"id\": %u, \"probability\": ", (unsigned)drawn->id);
    append_bits(drawn->probability);
    appendf(&out, ", \"log_probability\": ");
    append_bits(drawn->log_probability);
    appendf(&out, ", \"sizes\": [%u, %u, %u, %u], \"kept\": ", (unsigned)drawn->sizes[0], (unsigned)drawn->sizes[1], (unsigned)drawn->sizes[2],
            (unsigned)drawn->sizes[3]);
    append_kept(sampler);
    appendf(&out, ", \"words\": %u, \"numbers\": [", (unsigned)drawn->words);
    for (size_t i = 0; i < drawn->number_count; i++) {
        appendf(&out, i > 0 ? ", " : "");
        append_bits(drawn->numbers[i]);
    }
    appendf(&out, "], \"top\": [");
    append_top(sampler);
    appendf(&out, "]}");
}

/* Draw from each row; the whole step, or id, number of kept ids and their digest. */
static void each_row(const json *params, int whole) {
    size_t width = 0, allowed_length = 0;
    slm2_sample drawn;
    slm2_sampler *sampler = new_sampler(params, &width);
    float *logits = room(width * sizeof *logits);
    const json *rows = param(params, "rows"), *mask = json_member(params, "allowed");
    const uint8_t *allowed = mask != NULL ? hex_bytes(mask, &allowed_length) : NULL;
    size_t top = (size_t)integer_param(params, "top", 0);
    appendf(&out, "{\"steps\": [");
    for (size_t i = 0; i < rows->count; i++) {
        row(&rows->items[i], logits, width);
        slm2_status status = slm2_sampler_sample(context, sampler, logits, width, allowed, allowed_length, top, &drawn);
        if (status != SLM2_OK) {
            slm2_sampler_free(sampler);
        }
        check(status);
        appendf(&out, i > 0 ? ", " : "");
        if (whole) {
            append_step(sampler, &drawn);
        } else {
            appendf(&out, "[%u, %u, ", (unsigned)drawn.id, (unsigned)drawn.sizes[3]);
            append_kept(sampler);
            appendf(&out, "]");
        }
    }
    appendf(&out, "]}");
    slm2_sampler_free(sampler);
}

static void sample(const json *params) { each_row(params, 1); }

static void sample_kept(const json *params) { each_row(params, 0); }

/* Decimal digits of a number of 128 bits: the low half, then the high one. */
static void append_decimal(const uint64_t halves[2]) {
    uint32_t limbs[4] = {(uint32_t)(halves[1] >> 32), (uint32_t)halves[1], (uint32_t)(halves[0] >> 32), (uint32_t)halves[0]};
    char digits[48];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        uint64_t rest = 0;
        for (size_t i = 0; i < 4; i++) {
            uint64_t dividend = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(dividend / 10);
            rest = dividend % 10;
        }
        digits[--at] = (char)('0' + rest);
    } while ((limbs[0] | limbs[1] | limbs[2] | limbs[3]) != 0);
    appendf(&out, "\"%s\"", digits + at);
}

static void record(buffer *to, const slm2_sample *drawn) {
    uint32_t id = (uint32_t)drawn->id, kept = (uint32_t)drawn->sizes[3];
    append(to, &id, sizeof id);
    append(to, &kept, sizeof kept);
    append(to, &drawn->probability, sizeof drawn->probability);
    append(to, &drawn->log_probability, sizeof drawn->log_probability);
}

/* A long run over rows that are made once. */
static void draw(const json *params) {
    size_t width = 0;
    uint64_t position[2];
    slm2_sample drawn;
    buffer stretch = {NULL, 0, 0}, digests = {NULL, 0, 0};
    slm2_sampler *sampler = new_sampler(params, &width);
    size_t cycle = (size_t)integer_param(params, "cycle", 1);
    float *rows = room(cycle * width * sizeof *rows);
    for (size_t i = 0; i < cycle; i++) {
        recipe_logits(param(params, "recipe"), i, rows + i * width, width);
    }
    uint64_t steps = integer_param(params, "steps", 0), every = integer_param(params, "every", 100);
    append(&digests, "", 0);
    appendf(&out, "{\"ids\": [");
    for (uint64_t step = 1; step <= steps; step++) {
        check(slm2_sampler_sample(context, sampler, rows + (step - 1) % cycle * width, width, NULL, 0, 0, &drawn));
        appendf(&out, "%s%u", step > 1 ? ", " : "", (unsigned)drawn.id);
        record(&stretch, &drawn);
        if (step % every == 0 || step == steps) {
            uint8_t digest[32];
            check(slm2_sha256(context, (const uint8_t *)stretch.bytes, stretch.length, digest));
            appendf(&digests, digests.length > 0 ? ", \"" : "\"");
            append_hex(&digests, digest, sizeof digest);
            appendf(&digests, "\"");
            stretch.length = 0;
        }
    }
    check(slm2_sampler_position(context, sampler, position));
    appendf(&out, "], \"digests\": [");
    append(&out, digests.bytes, digests.length);
    appendf(&out, "], \"position\": ");
    append_decimal(position);
    appendf(&out, "}");
    free(stretch.bytes);
    free(digests.bytes);
    slm2_sampler_free(sampler);
}

/* Rows in which one id is greatest, one after the other. */
static void generate(const json *params) {
    static const char *const names[] = {"reason", "stopped_by", "stop_string", "pending"};
    size_t count = 0, length = 0;
    slm2_generation *generation = NULL;
    const json *config = param(params, "config");
    const uint8_t *text = (const uint8_t *)config->text;
    check(slm2_generation_new(context, contract, special_param(params), text, config->length, NULL, 0, SLM2_WIDTH, &generation));
    const uint32_t *ids = ids_of(param(params, "ids"), &count);
    float *logits = room(SLM2_WIDTH * sizeof *logits);
    buffer refusal = {NULL, 0, 0};
    appendf(&refusal, "null");
    appendf(&out, "{\"texts\": [");
    for (size_t i = 0; i < count; i++) {
        slm2_sample drawn;
        uint32_t reason = 0;
        logits[ids[i]] = 1;
        slm2_status status = slm2_generation_step(context, generation, logits, SLM2_WIDTH, NULL, 0, 0, &drawn, &reason, NULL, 0, &length);
        if (status == SLM2_REFUSED) {
            slm2_error(context, NULL, 0, &length);
            char *error = room(length);
            slm2_error(context, (uint8_t *)error, length, &length);
            json *whole = json_read(error, length);
            refusal.length = 0;
            appendf(&refusal, "{\"code\": ");
            append_raw(&refusal, json_member(whole, "code"));
            appendf(&refusal, ", \"fields\": ");
            append_raw(&refusal, json_member(whole, "fields"));
            appendf(&refusal, "}");
            json_free(whole);
            break;
        }
        const char *said = result(status, &length);
        appendf(&out, i > 0 ? ", " : "");
        append_text(&out, said, length);
        logits[ids[i]] = 0;
    }
    json *whole = result_json(slm2_generation_result(context, generation, NULL, 0, &length));
    slm2_generation_free(generation);
    appendf(&out, "], \"drawn\": ");
    append_raw(&out, json_member(whole, "ids"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        appendf(&out, ", \"%s\": ", names[i]);
        append_raw(&out, json_member(whole, names[i]));
    }
    appendf(&out, ", \"refusal\": ");
    append(&out, refusal.bytes, refusal.length);
    appendf(&out, "}");
    json_free(whole);
    free(refusal.bytes);
}

static slm2_generator *new_generator(const json *params) {
    slm2_generator *generator = NULL;
    buffer seed = {NULL, 0, 0};
    const json *key = json_member(params, "key"), *name = json_member(params, "stream_name"), *stream = json_member(params, "stream");
    appendf(&seed, "{\"rng\": ");
    append_raw(&seed, param(params, "rng"));
    appendf(&seed, ", \"seed\": ");
    if (key != NULL) {
        append_raw(&seed, key);
    } else {
        appendf(&seed, "%s", text_param(params, "seed"));
    }
    if (name != NULL) {
        appendf(&seed, ", \"stream\": ");
        append_raw(&seed, name);
    } else if (stream != NULL) {
        appendf(&seed, ", \"stream\": %s", stream->text);
    }
    appendf(&seed, "}");
    char *text = room(seed.length);
    memcpy(text, seed.bytes, seed.length);
    size_t length = seed.length;
    free(seed.bytes);
    check(slm2_generator_new(context, (const uint8_t *)text, length, &generator));
    return generator;
}

static void append_words(slm2_generator *generator, const json *params) {
    size_t count = (size_t)integer_param(params, "count", 0);
    uint32_t *words = room(count * sizeof *words);
    uint64_t position[2];
    check(slm2_generator_position(context, generator, position));
    check(slm2_generator_words(context, generator, words, count));
    appendf(&out, "\"position\": ");
    append_decimal(position);
    appendf(&out, ", \"words\": ");
    append_ids(&out, words, count);
}

static void random_words(const json *params) {
    slm2_generator *generator = new_generator(params);
    const json *jumps = param(params, "advance");
    uint8_t state[4096];
    size_t length = 0;
    double uniform = 0;
    for (size_t i = 0; i < jumps->count; i++) {
        check(slm2_generator_advance(context, generator, strtoull(jumps->items[i].text, NULL, 10)));
    }
    check(slm2_generator_state(context, generator, state, sizeof state, &length));
    check(slm2_generator_uniform(context, generator, &uniform));
    check(slm2_generator_restore(context, generator, state, length));
    appendf(&out, "{\"state\": \"");
    append_sha256(state, length, 32);
    appendf(&out, "\", ");
    append_words(generator, params);
    appendf(&out, ", \"uniform\": ");
    append_bits(uniform);
    appendf(&out, "}");
    slm2_generator_free(generator);
}

static void restore(const json *params) {
    slm2_generator *generator = new_generator(params);
    size_t length = 0;
    const uint8_t *state = hex_bytes(param(params, "state"), &length);
    slm2_status status = slm2_generator_restore(context, generator, state, length);
    if (status != SLM2_OK) {
        slm2_generator_free(generator);
    }
    check(status);
    appendf(&out, "{");
    append_words(generator, params);
    appendf(&out, "}");
    slm2_generator_free(generator);
}

static void portable(const json *params) {
    const json *patterns = param(params, "values");
    const char *name = text_param(params, "function");
    uint32_t function = strcmp(name, "exp") == 0 ? SLM2_EXP : strcmp(name, "log") == 0 ? SLM2_LOG : SLM2_LOG1P;
    double *values = room(patterns->count * sizeof *values);
    for (size_t i = 0; i < patterns->count; i++) {
        uint64_t bits = strtoull(patterns->items[i].text, NULL, 16);
        memcpy(&values[i], &bits, sizeof bits);
    }
    check(slm2_portable(context, function, values, patterns->count));
    appendf(&out, "{\"values\": [");
    for (size_t i = 0; i < patterns->count; i++) {
        appendf(&out, i > 0 ? ", " : "");
        append_bits(values[i]);
    }
    appendf(&out, "]}");
}

static void recipe(const json *params) {
    size_t width = (size_t)integer_param(params, "width", 0), count = (size_t)integer_param(params, "count", 0);
    const json *of = param(params, "recipe");
    float *logits = room(width * sizeof *logits);
    uint32_t *history = room(count * sizeof *history);
    recipe_logits(of, 0, logits, width);
    check(slm2_recipe_history(context, integer_param(of, "seed", 0), width, history, count));
    appendf(&out, "{\"first\": [");
    for (size_t i = 0; i < 4 && i < width; i++) {
        uint32_t bits;
        memcpy(&bits, &logits[i], sizeof bits);
        appendf(&out, "%s\"%08x\"", i > 0 ? ", " : "", bits);
    }
    appendf(&out, "], \"sha256\": \"");
    append_sha256(logits, width * sizeof *logits, 32);
    appendf(&out, "\", \"history\": ");
    append_ids(&out, history, count);
    appendf(&out, "}");
}

const entry draws[] = {
    {"sample", sample},       {"sample_kept", sample_kept}, {"draw", draw},     {"random_words", random_words}, {"restore", restore},
    {"portable", portable},   {"recipe", recipe},           {"generate", generate}, {NULL, NULL},
};
