/* Template2, replies, sessions, prompts. */
#include <string.h>

#include "testee.h"

static const uint8_t *bytes(const json *text) { return (const uint8_t *)text->text; }

/* Members of a result of the library, as it wrote them. */
static void append_members(const json *whole, const char *const *names) {
    appendf(&out, "{");
    for (size_t i = 0; names[i] != NULL; i++) {
        appendf(&out, "%s\"%s\": ", i > 0 ? ", " : "", names[i]);
        append_raw(&out, json_member(whole, names[i]));
    }
    appendf(&out, "}");
}

static slm2_rendering *rendered(const json *params) {
    slm2_rendering *rendering = NULL;
    const json *request = param(params, "request");
    check(slm2_render(context, contract, profile_param(params), on_special_param(params), bytes(request), request->length, &rendering));
    return rendering;
}

static void render(const json *params) {
    static const char *const names[] = {"input_ids", "text", "findings", "dropped_reasoning", NULL};
    size_t length = 0;
    slm2_rendering *rendering = rendered(params);
    slm2_status status = slm2_rendering_json(context, rendering, NULL, 0, &length);
    slm2_rendering_free(rendering);
    json *whole = result_json(status);
    append_members(whole, names);
    json_free(whole);
}

static void render_tokens(const json *params) {
    size_t length = 0;
    slm2_rendering *rendering = rendered(params);
    slm2_status status = slm2_rendering_tokens(context, rendering, NULL, 0, &length);
    slm2_rendering_free(rendering);
    const void *tokens = result(status, &length);
    appendf(&out, "{\"tokens\": ");
    append(&out, tokens, length);
    appendf(&out, "}");
}

static void append_events(slm2_status status) {
    size_t length = 0;
    const void *events = result(status, &length);
    appendf(&out, "\"events\": ");
    append(&out, events, length);
}

static void say(const json *call, void *reply) {
    size_t count = 0, length = 0;
    if (call->kind == JSON_TEXT) {
        append_events(slm2_reply_finish(context, reply, NULL, 0, &length));
        return;
    }
    const uint32_t *ids = ids_of(call, &count);
    append_events(slm2_reply_push(context, reply, ids, count, NULL, 0, &length));
}

static void reply(const json *params) {
    slm2_reply *reader = NULL;
    size_t length = 0;
    const json *state = param(params, "state"), *calls = param(params, "calls");
    check(slm2_reply_new(context, contract, bytes(state), state->length, &reader));
    appendf(&out, "{\"calls\": [");
    for (size_t i = 0; i < calls->count; i++) {
        appendf(&out, i > 0 ? ", {" : "{");
        outcome(say, &calls->items[i], reader);
        const char *name = result(slm2_reply_state(context, reader, NULL, 0, &length), &length);
        appendf(&out, ", \"state\": ");
        append_text(&out, name, length);
        appendf(&out, "}");
    }
    appendf(&out, "]}");
    slm2_reply_free(reader);
}

/* What is lost stands in rows there. */
static void append_delta(slm2_status status) {
    json *delta = result_json(status);
    const json *lost = json_member(delta, "lost");
    appendf(&out, "\"keep\": ");
    append_raw(&out, json_member(delta, "keep"));
    appendf(&out, ", \"append\": ");
    append_raw(&out, json_member(delta, "append"));
    appendf(&out, ", \"state\": ");
    append_raw(&out, json_member(delta, "state"));
    appendf(&out, ", \"lost\": [");
    for (size_t i = 0; lost != NULL && i < lost->count; i++) {
        appendf(&out, i > 0 ? ", [" : "[");
        append_raw(&out, json_member(&lost->items[i], "message"));
        appendf(&out, ", ");
        append_raw(&out, json_member(&lost->items[i], "ids"));
        appendf(&out, ", ");
        append_raw(&out, json_member(&lost->items[i], "reason"));
        appendf(&out, "]");
    }
    appendf(&out, "]");
    json_free(delta);
}

static void restored(const json *checkpoint, slm2_session **session) {
    slm2_session *other = NULL;
    size_t count = 0;
    check(slm2_session_restore(context, contract, bytes(checkpoint), checkpoint->length, &other));
    slm2_session_free(*session);
    *session = other;
    result_ids(slm2_session_cached_ids(context, other, NULL, 0, &count), &count);
    appendf(&out, "\"cached\": %zu", count);
}

static void word(const char *name, slm2_session *session) {
    size_t length = 0;
    if (strcmp(name, "settle") == 0) {
        append_delta(slm2_session_settle(context, session, NULL, 0, &length));
    } else if (strcmp(name, "settled") == 0) {
        append_delta(slm2_session_settled(context, session, NULL, 0, &length));
    } else if (strcmp(name, "save") == 0) {
        const char *checkpoint = result(slm2_session_save(context, session, NULL, 0, &length), &length);
        appendf(&out, "\"checkpoint\": ");
        append_text(&out, checkpoint, length);
    } else {
        fail("there is no such step");
    }
}

static void step(const json *asked, void *state) {
    slm2_session **session = state;
    size_t count = 0, length = 0;
    if (asked->kind == JSON_TEXT) {
        word(asked->text, *session);
    } else if (json_member(asked, "restore") != NULL) {
        restored(param(asked, "restore"), session);
    } else if (json_member(asked, "reply") != NULL) {
        const uint32_t *ids = ids_of(param(asked, "reply"), &count);
        append_events(slm2_session_reply(context, *session, ids, count, NULL, 0, &length));
    } else {
        const json *messages = param(asked, "extend"), *thinking = json_member(asked, "enable_thinking");
        int32_t flag = thinking == NULL || thinking->kind == JSON_NULL ? SLM2_UNSAID : thinking->kind == JSON_TRUE;
        append_delta(slm2_session_extend(context, *session, bytes(messages), messages->length, flag, NULL, 0, &length));
    }
}

static void session(const json *params) {
    slm2_session *conversation = NULL;
    const json *options = param(params, "options"), *steps = param(params, "steps");
    check(slm2_session_new(context, contract, profile_param(params), bytes(options), options->length, &conversation));
    appendf(&out, "{\"steps\": [");
    for (size_t i = 0; i < steps->count; i++) {
        appendf(&out, i > 0 ? ", {" : "{");
        outcome(step, &steps->items[i], &conversation);
        appendf(&out, "}");
    }
    appendf(&out, "]}");
    slm2_session_free(conversation);
}

static slm2_assembly *assembled(const json *params, const char *name) {
    slm2_assembly *assembly = NULL;
    const json *request = param(params, name);
    check(slm2_assemble(context, contract, profile_param(params), on_special_param(params), bytes(request), request->length, &assembly));
    return assembly;
}

/* The report, with the ids in front. */
static void assemble(const json *params) {
    size_t count = 0, length = 0;
    slm2_assembly *assembly = assembled(params, "request");
    const uint32_t *ids = result_ids(slm2_assembly_ids(context, assembly, NULL, 0, &count), &count);
    appendf(&out, "{\"input_ids\": ");
    append_ids(&out, ids, count);
    slm2_status status = slm2_assembly_report(context, assembly, NULL, 0, &length);
    slm2_assembly_free(assembly);
    const char *report = result(status, &length);
    appendf(&out, ", ");
    append(&out, report + 1, length - 1);
}

static void assemble_tokens(const json *params) {
    size_t length = 0;
    slm2_assembly *assembly = assembled(params, "request");
    slm2_status status = slm2_assembly_tokens(context, assembly, NULL, 0, &length);
    slm2_assembly_free(assembly);
    const void *tokens = result(status, &length);
    appendf(&out, "{\"tokens\": ");
    append(&out, tokens, length);
    appendf(&out, "}");
}

/* What changes from the prompt of one request to that of another; from nothing where `before` is null. */
static void prompt_delta(const json *params) {
    size_t count = 0, length = 0;
    uint32_t *cached = room(0);
    if (param(params, "before")->kind != JSON_NULL) {
        slm2_assembly *before = assembled(params, "before");
        slm2_status status = slm2_assembly_ids(context, before, NULL, 0, &count);
        slm2_assembly_free(before);
        const uint32_t *ids = result_ids(status, &count);
        cached = room(count * sizeof *cached);
        memcpy(cached, ids, count * sizeof *cached);
    }
    slm2_assembly *assembly = assembled(params, "request");
    slm2_status status = slm2_assembly_delta(context, assembly, cached, count, NULL, 0, &length);
    slm2_assembly_free(assembly);
    const void *delta = result(status, &length);
    append(&out, delta, length);
}

const entry chats[] = {
    {"render", render}, {"render_tokens", render_tokens}, {"reply", reply}, {"session", session}, {"assemble", assemble}, {"assemble_tokens", assemble_tokens}, {"prompt_delta", prompt_delta}, {NULL, NULL},
};
