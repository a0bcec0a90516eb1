/* SPDX-License-Identifier: MIT */
/* The page gets the right nodes, and their data is packed as the page expects. tests/e2e/outputs/test_flame.py reads
 * whole files. */
#include "formats/flame/packed.h"
#include "formats/flame/page_nodes.h"
#include "formats/flame/short_text.h"

#include "formats/base/alloc.h"
#include "formats/scratch/tempfile.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- nodes ---- */

/* A tree without entries: node 0 is the root, node 1 a group; the totals of the others are their selves for now. */
static struct call_tree new_tree(size_t count)
{
    struct call_tree tree = { .count = count, .nodes = alloc_zeroed(count, sizeof(*tree.nodes)) };
    for (size_t i = 1; i < count; i++)
        tree.nodes[i].entry = i > 1;
    return tree;
}

static void put_node(struct call_tree *tree, uint32_t node, uint32_t parent, uint64_t samples, uint64_t cpu_ns)
{
    struct call_node *row = &tree->nodes[node];
    row->parent = parent;
    row->self[SUM_SAMPLES] = row->total[SUM_SAMPLES] = samples;
    row->self[SUM_CPU_NS] = row->total[SUM_CPU_NS] = cpu_ns;
}

/* Adds up totals and links children in the order of their numbers. */
static void settle(struct call_tree *tree)
{
    for (size_t i = tree->count; i-- > 1;) {
        struct call_node *parent = &tree->nodes[tree->nodes[i].parent];
        for (size_t sum = 0; sum < SUMS; sum++)
            parent->total[sum] += tree->nodes[i].total[sum];
        tree->nodes[i].next = parent->child;
        parent->child = (uint32_t)i;
    }
}

static const bool samples_known[SUMS] = { [SUM_SAMPLES] = true };
static const bool both_known[SUMS] = { [SUM_SAMPLES] = true, [SUM_CPU_NS] = true };

/* 100 samples: main has 90 itself, and work 5, tick 1 with 1 below it, log 3. */
static struct call_tree small_tree(void)
{
    struct call_tree tree = new_tree(7);
    put_node(&tree, 1, 0, 0, 0);
    put_node(&tree, 2, 1, 90, 0); /* main */
    put_node(&tree, 3, 2, 5, 0);  /* work */
    put_node(&tree, 4, 2, 1, 0);  /* tick */
    put_node(&tree, 5, 4, 1, 50); /* below tick */
    put_node(&tree, 6, 2, 3, 0);  /* log */
    settle(&tree);
    return tree;
}

static void assert_row(const struct page_nodes *nodes, size_t index, uint32_t node, uint32_t parent, bool rest)
{
    assert_int_equal(nodes->rows[index].node, node);
    assert_int_equal(nodes->rows[index].parent, parent);
    assert_int_equal(nodes->rows[index].rest != 0, rest);
}

static void test_all_nodes_of_a_small_tree_are_kept(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    struct page_nodes nodes;
    page_nodes_find(&nodes, &tree, samples_known, -1);
    assert_int_equal(nodes.count, 5);
    assert_int_equal(nodes.pruned, 0);
    assert_true(nodes.share == 0);
    assert_row(&nodes, 0, 2, 0, false);
    assert_row(&nodes, 1, 3, 1, false);
    assert_row(&nodes, 2, 4, 1, false);
    assert_row(&nodes, 3, 5, 3, false);
    assert_row(&nodes, 4, 6, 1, false);
    page_nodes_free(&nodes);
    free(tree.nodes);
}

static void test_pruned_children_are_one_rest(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    struct page_nodes nodes;
    page_nodes_find(&nodes, &tree, samples_known, 0.04);
    assert_int_equal(nodes.count, 3);
    assert_row(&nodes, 0, 2, 0, false);
    assert_row(&nodes, 1, 2, 1, true);
    assert_row(&nodes, 2, 3, 1, false);
    assert_int_equal(nodes.pruned, 3);
    assert_int_equal(page_nodes_self(&nodes, &tree, 0, SUM_SAMPLES), 90);
    assert_int_equal(page_nodes_self(&nodes, &tree, 1, SUM_SAMPLES), 5);
    assert_int_equal(page_nodes_self(&nodes, &tree, 1, SUM_CPU_NS), 50);
    assert_int_equal(page_nodes_self(&nodes, &tree, 2, SUM_SAMPLES), 5);
    page_nodes_free(&nodes);
    free(tree.nodes);
}

/* A node that has all of the CPU time stays, however few samples it has. */
static void test_a_node_stays_that_matters_for_one_sum(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    struct page_nodes nodes;
    page_nodes_find(&nodes, &tree, both_known, 0.04);
    assert_int_equal(nodes.pruned, 1);
    assert_int_equal(nodes.count, 5);
    assert_row(&nodes, 3, 4, 1, false);
    assert_row(&nodes, 4, 5, 4, false);
    page_nodes_free(&nodes);
    free(tree.nodes);
}

static void test_a_group_stays_with_its_rest(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    struct page_nodes nodes;
    page_nodes_find(&nodes, &tree, samples_known, 1.1);
    assert_int_equal(nodes.count, 1);
    assert_row(&nodes, 0, 1, 0, true);
    assert_int_equal(page_nodes_self(&nodes, &tree, 0, SUM_SAMPLES), 100);
    page_nodes_free(&nodes);
    free(tree.nodes);
}

/* A crowd of nodes below one function: the share becomes large enough, and the sums stay whole. */
static void test_a_crowd_is_pruned_until_it_fits(void **state)
{
    (void)state;
    const uint32_t count = 400000;
    struct call_tree tree = new_tree(count);
    struct page_nodes nodes;
    uint64_t sum = 0;
    put_node(&tree, 1, 0, 0, 0);
    put_node(&tree, 2, 1, 0, 0);
    for (uint32_t i = 3; i < count; i++)
        put_node(&tree, i, 2, 1 + i % 7, 0);
    settle(&tree);
    page_nodes_find(&nodes, &tree, samples_known, -1);
    assert_in_range(nodes.count, PAGE_NODES_MOST / 3, PAGE_NODES_MOST + 1);
    assert_true(nodes.share > 0);
    assert_int_equal(nodes.pruned + nodes.count - 1, count - 2);
    for (size_t i = 0; i < nodes.count; i++)
        sum += page_nodes_self(&nodes, &tree, i, SUM_SAMPLES);
    assert_int_equal(sum, tree.nodes[0].total[SUM_SAMPLES]);
    page_nodes_free(&nodes);
    free(tree.nodes);
}

/* ---- packing ---- */

static size_t unpack_base64(unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t made = 0;
    assert_int_equal(size % 4, 0);
    for (size_t at = 0; at < size; at += 4) {
        uint32_t four = 0;
        size_t padding = 0;
        for (size_t i = 0; i < 4; i++) {
            const char *digit = memchr(digits, bytes[at + i], 64);
            padding += bytes[at + i] == '=';
            assert_true(digit || (bytes[at + i] == '=' && at + 4 == size));
            four = four << 6 | (digit ? (uint32_t)(digit - digits) : 0);
        }
        for (size_t i = 0; i < 3 - padding; i++)
            bytes[made++] = (unsigned char)(four >> (16 - 8 * i));
    }
    return made;
}

/* Packs `size` bytes that do not compress, and compares what is unpacked. */
static void check_packing(size_t size)
{
    struct fault why = { 0 };
    struct packed packed = { 0 };
    struct output to = { 0 };
    uint64_t written;
    unsigned char *plain = alloc_zeroed(size + 1, 1), *unpacked = alloc_zeroed(size + 64, 1);
    for (size_t i = 0; i < size; i++)
        plain[i] = (unsigned char)((i * 2654435761u >> 13) ^ (i >> 3));
    const int fd = tempfile_create(&why);
    output_open_fd(&to, dup(fd), "a test", false);
    assert_true(packed_open(&packed, &why));
    output_bytes(&packed.plain, plain, size);
    assert_true(packed_close(&packed, &to, &why));
    assert_true(output_close(&to, &written, &why));
    unsigned char *read = alloc_zeroed(written + 1, 1);
    assert_true(tempfile_read(fd, 0, read, written, &why));
    z_stream gzip = { .next_in = read, .next_out = unpacked, .avail_out = (unsigned)size + 64 };
    gzip.avail_in = (unsigned)unpack_base64(read, written);
    assert_int_equal(inflateInit2(&gzip, 15 + 16), Z_OK);
    assert_int_equal(inflate(&gzip, Z_FINISH), Z_STREAM_END);
    assert_int_equal(gzip.total_out, size);
    assert_int_equal(gzip.avail_in, 0);
    assert_memory_equal(unpacked, plain, size);
    inflateEnd(&gzip);
    close(fd);
    free(read);
    free(plain);
    free(unpacked);
}

static void test_packed_bytes_are_the_same_unpacked(void **state)
{
    (void)state;
    for (size_t size = 0; size < 9; size++)
        check_packing(size);
    for (size_t size = 49140; size < 49160; size++)
        check_packing(size);
    check_packing(1000003);
}

static void test_an_abandoned_packing_can_be_abandoned_again(void **state)
{
    (void)state;
    struct fault why = { 0 };
    struct packed packed = { 0 };
    packed_abandon(&packed);
    assert_true(packed_open(&packed, &why));
    packed_abandon(&packed);
    packed_abandon(&packed);
}

/* ---- texts ---- */

static void test_long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    struct bytes room = { 0 };
    char long_text[SHORT_TEXT_MOST + 8];
    memset(long_text, 'a', sizeof(long_text));
    const struct text short_enough = { long_text, SHORT_TEXT_MOST };
    assert_ptr_equal(short_text(short_enough, &room).bytes, long_text);
    memcpy(long_text + SHORT_TEXT_MOST - 2, "\xF0\x9F\x90\x8D", 4); /* a character that would be cut */
    const struct text cut = short_text((struct text){ long_text, sizeof(long_text) }, &room);
    assert_int_equal(cut.size, SHORT_TEXT_MOST - 2 + 3);
    assert_memory_equal(cut.bytes + cut.size - 4, "a\xE2\x80\xA6", 4);
    bytes_free(&room);
}

TEST_FILE(flame)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_nodes_of_a_small_tree_are_kept),
        cmocka_unit_test(test_pruned_children_are_one_rest),
        cmocka_unit_test(test_a_node_stays_that_matters_for_one_sum),
        cmocka_unit_test(test_a_group_stays_with_its_rest),
        cmocka_unit_test(test_a_crowd_is_pruned_until_it_fits),
        cmocka_unit_test(test_packed_bytes_are_the_same_unpacked),
        cmocka_unit_test(test_an_abandoned_packing_can_be_abandoned_again),
        cmocka_unit_test(test_long_texts_are_cut_between_characters),
    };
    return run_all(tests);
}
