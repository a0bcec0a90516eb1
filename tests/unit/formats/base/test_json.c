/* SPDX-License-Identifier: MIT */
#include "formats/base/json.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct page {
    struct output output;
    struct json_emitter json;
    char path[40];
};

static void begin(struct page *page)
{
    *page = (struct page){ .path = "/tmp/pyreel-json.XXXXXX" };
    close(mkstemp(page->path));
    assert_true(output_open(&page->output, page->path, false, NULL));
    page->json.to = &page->output;
}

static void assert_page(struct page *page, const char *wanted)
{
    char text[4096] = "";
    assert_true(output_close(&page->output, NULL, NULL));
    FILE *file = fopen(page->path, "re");
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    unlink(page->path);
    assert_string_equal(text, wanted);
}

static void a_number_is_told_again(void **state)
{
    (void)state;
    struct page page;
    begin(&page);
    struct json_emitter *json = &page.json;
    emit_open(json, NULL, '[');
    emit_again(json, 5, 0);
    emit_again(json, 7, 2);
    emit_again(json, UINT64_C(12345678901234567890) / 2, 1);
    emit_again(json, 0, 3);
    emit_close(json, ']');
    assert_page(&page, "[7,7,6172839450617283945,0,0,0]");
}

static void brackets_and_commas_are_where_they_belong(void **state)
{
    (void)state;
    struct page page;
    begin(&page);
    struct json_emitter *json = &page.json;
    emit_open(json, NULL, '{');
    emit_open(json, "samples", '{');
    emit_open(json, "stack", '[');
    emit_integer(json, NULL, 7);
    emit_integer(json, NULL, -7);
    emit_literal(json, NULL, "null");
    emit_close(json, ']');
    emit_open(json, "empty", '[');
    emit_close(json, ']');
    emit_close(json, '}');
    emit_open(json, "nothing", '{');
    emit_close(json, '}');
    emit_text(json, "name", TEXT("a \"b\" \\ \n\x01 \xC3\xBC"));
    emit_text(json, "none", (struct text){ 0 });
    emit_text_or_null(json, "unknown", (struct text){ 0 });
    emit_text_or_null(json, "known", TEXT("a"));
    emit_flag(json, "yes", true);
    emit_flag(json, "no", false);
    emit_value(json, "value", json_pack("[i,{s:b}]", 1, "x", 1));
    emit_close(json, '}');
    assert_false(json->bad);
    assert_page(&page,
                "{\"samples\":{\"stack\":[7,-7,null],\"empty\":[]},\"nothing\":{},"
                "\"name\":\"a \\\"b\\\" \\\\ \\n\\u0001 \xC3\xBC\",\"none\":\"\",\"unknown\":null,\"known\":\"a\","
                "\"yes\":true,\"no\":false,\"value\":[1,{\"x\":true}]}");
}

static void numbers_are_written_exactly(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        unsigned digits;
    } decimals[] = { { 12340, 3 },      { 12000, 3 },      { 5, 9 },  { 0, 9 },  { 7, 0 },
                     { 1000000001, 9 }, { UINT64_MAX, 6 }, { 10, 1 }, { 120, 2 } };
    struct page page;
    begin(&page);
    emit_open(&page.json, NULL, '[');
    emit_integer(&page.json, NULL, INT64_MIN);
    emit_integer(&page.json, NULL, INT64_MAX);
    emit_integer(&page.json, NULL, 0);
    for (size_t i = 0; i < countof(decimals); i++)
        emit_decimal(&page.json, NULL, decimals[i].value, decimals[i].digits);
    emit_close(&page.json, ']');
    assert_page(&page, "[-9223372036854775808,9223372036854775807,0,12.34,12,0.000000005,0,7,1.000000001,"
                       "18446744073709.551615,1,1.2]");
}

static void a_text_that_is_not_utf8_is_told(void **state)
{
    (void)state;
    struct page page;
    begin(&page);
    emit_open(&page.json, NULL, '[');
    emit_text(&page.json, NULL, TEXT("\xFF"));
    emit_text(&page.json, NULL, TEXT("good"));
    emit_close(&page.json, ']');
    assert_true(page.json.bad);
    assert_page(&page, "[null,\"good\"]");
}

static void a_terminal_takes_no_text_for_a_command(void **state)
{
    (void)state;
    struct page page;
    begin(&page);
    emit_open(&page.json, NULL, '[');
    emit_text(&page.json, NULL, TEXT("a\x1B[2J\n\x7F"));
    emit_text(&page.json, NULL, TEXT("caf\xC3\xA9 \xC2\x9B\xE2\x80\xAE\xE2\x82\xAC"));
    emit_text(&page.json, NULL, TEXT("\xF3\xA0\x80\xA0\xF0\x9F\x90\x8D"));
    emit_close(&page.json, ']');
    assert_false(page.json.bad);
    assert_page(&page, "[\"a\\u001B[2J\\n\\u007f\",\"caf\xC3\xA9 \\u009b\\u202e\xE2\x82\xAC\","
                       "\"\\udb40\\udc20\xF0\x9F\x90\x8D\"]");
}

TEST_FILE(json)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_told_again),          cmocka_unit_test(brackets_and_commas_are_where_they_belong),
        cmocka_unit_test(numbers_are_written_exactly),     cmocka_unit_test(a_terminal_takes_no_text_for_a_command),
        cmocka_unit_test(a_text_that_is_not_utf8_is_told),
    };
    return run_all(tests);
}
