/* A testee over the C ABI: one JSON request a line in, one answer a line out (contract/conformance.md).
 *
 *     testee --artifact FILE
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "testee.h"

enum { MOST_LIMITS = 64, MOST_ROOMS = 4096 };

slm2_context *context;
slm2_contract *contract;
buffer out;

/* A context for each limit that a call named. */
static struct {
    uint64_t limit;
    slm2_context *context;
} contexts[MOST_LIMITS];
static size_t context_count;

static void *rooms[MOST_ROOMS];
static size_t room_count;

/* Where a call that cannot go on ends. */
static jmp_buf *handler;
static const char *reason;
enum { REFUSED = 1, FAILED = 2 };

static const entry *const methods[] = {texts, chats, draws, sweeps};

void fail(const char *why) {
    reason = why;
    longjmp(*handler, FAILED);
}

void check(slm2_status status) {
    if (status == SLM2_REFUSED) {
        longjmp(*handler, REFUSED);
    }
    if (status != SLM2_OK && status != SLM2_TOO_SMALL) {
        fail("the library made a mistake");
    }
}

const void *result(slm2_status status, size_t *length) {
    const void *address = NULL;
    *length = 0;
    check(status);
    if (status == SLM2_TOO_SMALL) {
        check(slm2_result_view(context, &address, length));
    }
    return address;
}

const uint32_t *result_ids(slm2_status status, size_t *count) {
    const uint32_t *ids = result(status, count);
    *count /= sizeof *ids;
    return ids;
}

json *result_json(slm2_status status) {
    size_t length = 0;
    const void *address = result(status, &length);
    /* A copy: a tree shows its text, and the next call reuses the result. */
    char *text = room(length + 1);
    if (length > 0) {
        memcpy(text, address, length);
    }
    json *value = json_read(text, length);
    if (value == NULL) {
        fail("the library wrote no JSON");
    }
    return value;
}

void *room(size_t size) {
    if (room_count == MOST_ROOMS) {
        fail("too many parts");
    }
    void *memory = calloc(size + 1, 1);
    if (memory == NULL) {
        fail("out of memory");
    }
    rooms[room_count++] = memory;
    return memory;
}

static void append_refusal(void) {
    size_t length = 0;
    slm2_error(context, NULL, 0, &length);
    char *text = room(length);
    slm2_error(context, (uint8_t *)text, length, &length);
    json *error = json_read(text, length);
    appendf(&out, "{\"code\": ");
    append_raw(&out, json_member(error, "code"));
    appendf(&out, ", \"fields\": ");
    append_raw(&out, json_member(error, "fields"));
    appendf(&out, "}");
    json_free(error);
}

void outcome(void (*call)(const json *part, void *state), const json *part, void *state) {
    jmp_buf here, *volatile before = handler;
    volatile size_t length = out.length;
    handler = &here;
    int left = setjmp(here);
    if (left == 0) {
        call(part, state);
    }
    handler = before;
    if (left == REFUSED) {
        out.length = length;
        appendf(&out, "\"error\": ");
        append_refusal();
    } else if (left != 0) {
        fail(reason);
    }
}

static slm2_context *context_of(uint64_t limit) {
    for (size_t i = 0; i < context_count; i++) {
        if (contexts[i].limit == limit) {
            return contexts[i].context;
        }
    }
    if (context_count == MOST_LIMITS) {
        fail("too many limits");
    }
    context = slm2_context_new();
    slm2_status status = slm2_context_set_max_pretoken(context, limit);
    /* One that is refused is kept for its error, under a limit that none names. */
    contexts[context_count].limit = status == SLM2_OK ? limit : UINT64_MAX;
    contexts[context_count++].context = context;
    check(status);
    return context;
}

static void hello(const json *params) {
    struct utsname system;
    size_t length = 0;
    (void)params;
    json *info = result_json(slm2_contract_info(context, contract, NULL, 0, &length));
    appendf(&out, "{\"protocol\": 1, \"contract_version\": ");
    append_raw(&out, json_member(info, "contract_version"));
    appendf(&out, ", \"semantic_digest\": ");
    append_raw(&out, json_member(info, "semantic_digest"));
    appendf(&out, ", \"file_digest\": ");
    append_raw(&out, json_member(info, "file_digest"));
    json_free(info);
    uname(&system);
    appendf(&out, ", \"host\": {\"name\": \"slm2_capi\", \"version\": \"ABI %u\", \"language\": \"C\", \"runtime\": \"%s\", \"platform\": \"%s %s\"}",
            slm2_abi_version(), __VERSION__, system.sysname, system.machine);
    appendf(&out, ", \"methods\": [\"hello\"");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (const entry *each = methods[i]; each->name != NULL; each++) {
            appendf(&out, ", \"%s\"", each->name);
        }
    }
    appendf(&out, "]}");
}

static method found(const char *name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (const entry *each = methods[i]; each->name != NULL; each++) {
            if (strcmp(each->name, name) == 0) {
                return each->call;
            }
        }
    }
    if (strcmp(name, "hello") != 0) {
        fail("there is no such method");
    }
    return hello;
}

static void call(const json *request) {
    const json *params = param(request, "params");
    context = context_of(integer_param(params, "max_pretoken", SLM2_MAX_PRETOKEN));
    method asked = found(text_param(request, "method"));
    appendf(&out, "\"result\": ");
    asked(params);
}

static void answer(const char *line, size_t line_length) {
    jmp_buf here;
    json *request = json_read(line, line_length);
    out.length = 0;
    appendf(&out, "{\"id\": ");
    append_raw(&out, json_member(request, "id"));
    appendf(&out, ", ");
    volatile size_t length = out.length;
    handler = &here;
    int left = setjmp(here);
    if (left == 0) {
        call(request);
    } else {
        out.length = length;
        appendf(&out, left == REFUSED ? "\"error\": " : "\"failure\": ");
        if (left == REFUSED) {
            append_refusal();
        } else {
            append_text(&out, reason, strlen(reason));
        }
    }
    appendf(&out, "}\n");
    fwrite(out.bytes, 1, out.length, stdout);
    fflush(stdout);
    json_free(request);
    while (room_count > 0) {
        free(rooms[--room_count]);
    }
}

static int open_artifact(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return 0;
    }
    size_t size = (size_t)ftell(file);
    void *memory = slm2_alloc(size);
    rewind(file);
    size_t taken = memory != NULL ? fread(memory, 1, size, file) : 0;
    fclose(file);
    slm2_context *opening = slm2_context_new();
    int opened = taken == size && slm2_contract_adopt(opening, memory, size, &contract) == SLM2_OK;
    slm2_context_free(opening);
    return opened;
}

int main(int argc, char **argv) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    if (argc != 3 || strcmp(argv[1], "--artifact") != 0) {
        fputs("usage: testee --artifact FILE\n", stderr);
        return 2;
    }
    if (!open_artifact(argv[2])) {
        fprintf(stderr, "testee: %s cannot be opened\n", argv[2]);
        return 2;
    }
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        answer(line, (size_t)length);
    }
    free(line);
    free(out.bytes);
    for (size_t i = 0; i < context_count; i++) {
        slm2_context_free(contexts[i].context);
    }
    slm2_contract_free(contract);
    return 0;
}
