/* SPDX-License-Identifier: MIT */
#include "record/labels/process_context.h"

#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define HEAD    UINT64_C(0x500000000000)
#define PAYLOAD UINT64_C(0x500000010000)

/* Appends a field that is bytes. */
static void put_field(struct bytes *to, unsigned number, struct text bytes)
{
    put_number(to, number << 3 | 2);
    put_text(to, bytes);
}

/* A KeyValue whose value is an AnyValue with these bytes. */
static struct bytes pair_of(const char *key, struct text value)
{
    struct bytes pair = { 0 };
    put_field(&pair, 1, text_of(key));
    put_field(&pair, 2, value);
    return pair;
}

/* A ProcessContext: with one attribute of the resource, and with or without the sign that threads publish. */
static struct bytes context_of(const char *key, struct text value, bool threads)
{
    struct bytes context = { 0 }, resource = { 0 }, pair = pair_of(key, value);
    put_field(&resource, 1, bytes_text(&pair));
    put_field(&context, 1, bytes_text(&resource));
    bytes_free(&pair);
    pair = pair_of("threadlocal.schema_version", TEXT("\x0a\x06tls_v1"));
    if (threads)
        put_field(&context, 2, bytes_text(&pair));
    bytes_free(&pair);
    bytes_free(&resource);
    return context;
}

static void assert_context(const char *key, struct text value, const char *expected)
{
    struct bytes lines = { 0 }, context = context_of(key, value, false);
    assert_false(process_context_put(&lines, bytes_text(&context)));
    put_bytes(&lines, "", 1);
    assert_string_equal((const char *)lines.at, expected);
    bytes_free(&lines);
    bytes_free(&context);
}

static void values_become_lines(void **state)
{
    (void)state;
    assert_context("service.name", TEXT("\x0a\x04shop"), "service.name=shop\n");
    assert_context("service.name", TEXT("\x0a\x04s\nop"), "service.name=s op\n");
    assert_context("replicas", TEXT("\x18\x2a"), "replicas=42\n");
    assert_context("offset", TEXT("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "offset=-1\n");
    assert_context("canary", TEXT("\x10\x01"), "canary=true\n");
    assert_context("ratio",
                   TEXT("\x21"
                        "12345678"),
                   "");
    assert_context("list", TEXT("\x2a\x02\x0a\x00"), "");
    assert_context("a=b", TEXT("\x0a\x01x"), "");
    assert_context("", TEXT("\x0a\x01x"), "");
    assert_context("broken", TEXT("\x0a\x7fx"), "");
}

static void threads_are_told_of(void **state)
{
    (void)state;
    struct bytes lines = { 0 }, context = context_of("k", TEXT("\x0a\x01v"), true);
    assert_true(process_context_put(&lines, bytes_text(&context)));
    for (size_t size = 0; size < context.size; size++) /* cut anywhere */
        process_context_put(&lines, (struct text){ (const char *)context.at, size });
    bytes_free(&lines);
    bytes_free(&context);
}

/* ---- the mapping ---- */

struct __attribute__((packed)) head {
    char magic[8];
    uint32_t version, size;
    uint64_t published_ns, payload;
};

static void assert_lines(const struct process_context *context, const char *expected)
{
    assert_int_equal(context->lines.size, strlen(expected));
    assert_memory_equal(context->lines.at, expected, strlen(expected));
}

static void a_change_is_seen(void **state)
{
    (void)state;
    struct remote remote = { .pid = 1 };
    struct process_context context = { 0 };
    const struct mapping mapping = { HEAD, HEAD + 4096, false };
    struct bytes payload = context_of("service.name", TEXT("\x0a\x04shop"), true);
    struct head head = { "OTEL_CTX", 2, (uint32_t)payload.size, 0, PAYLOAD };
    fake_remote_reset();
    fake_remote_map(HEAD, &head, sizeof(head));
    fake_remote_map(PAYLOAD, payload.at, payload.size);
    assert_false(process_context_open(&context, &remote, &mapping)); /* it is not ready */
    assert_int_equal(context.address, 0);
    head.published_ns = 5;
    assert_true(process_context_open(&context, &remote, &mapping));
    assert_lines(&context, "service.name=shop\n");
    assert_true(context.threads);
    assert_false(process_context_look(&context, &remote));
    memcpy(memmem(payload.at, payload.size, "shop", 4), "SHOP", 4);
    head.published_ns = 0; /* it is being changed */
    assert_false(process_context_look(&context, &remote));
    head.published_ns = 6;
    assert_true(process_context_look(&context, &remote));
    assert_lines(&context, "service.name=SHOP\n");
    head.version = 3;
    assert_false(process_context_look(&context, &remote));
    assert_int_equal(context.address, 0); /* it is forgotten */
    head.version = 2;
    head.size = PROCESS_CONTEXT_MOST + 1;
    assert_false(process_context_open(&context, &remote, &mapping));
    head.size = (uint32_t)payload.size + 1; /* beyond what is there */
    assert_false(process_context_open(&context, &remote, &mapping));
    process_context_close(&context);
    bytes_free(&payload);
}

TEST_FILE(process_context)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_become_lines),
        cmocka_unit_test(threads_are_told_of),
        cmocka_unit_test(a_change_is_seen),
    };
    return run_all(tests);
}
