/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_packet.c - the packets of fabric.so: the golden files are canonical, every broken form is
 * refused with a sentence, and no bytes at all can hurt.
 */
#include "unit.h"

#include "packet.h"
#include "text.h"

static char text[PACKET_MAX + 1];
static size_t text_len;

/* The golden file of a kind into text. */
static void golden(const char *kind)
{
	char name[64], *whole;

	snprintf(name, sizeof(name), "contract/packet-%s.txt", kind);
	whole = test_data(name, &text_len);
	assert_in_range(text_len, 1, PACKET_MAX);
	memcpy(text, whole, text_len + 1);
	free(whole);
}

static void read_golden(const char *kind, struct packet *p)
{
	struct err err = { "" };

	golden(kind);
	if (packet_read(text, text_len, p, &err))
		fail_msg("%s: %s", kind, err.text);
}

static void refuse(const char *packet, const char *sentence)
{
	struct packet p;
	struct err err = { "" };

	assert_int_equal(packet_read(packet, strlen(packet), &p, &err), -EPROTO);
	if (!strstr(err.text, sentence))
		fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
}

static void golden_files_are_canonical(void **state)
{
	static const char *const kinds[] = { "step-begin", "task", "step-end" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char out[PACKET_MAX];
		struct packet p;
		int len;

		read_golden(kinds[i], &p);
		len = packet_write(&p, out);
		assert_int_equal(len, text_len);
		assert_memory_equal(out, text, text_len);
	}
}

static void values_arrive(void **state)
{
	struct packet p;

	(void)state;
	read_golden("step-begin", &p);
	assert_int_equal(p.kind, PACKET_STEP_BEGIN);
	assert_int_equal(p.job, 4711);
	assert_int_equal(p.step, 0);
	assert_int_equal(p.uid, 1000);
	assert_int_equal(p.node_index, 1);
	assert_int_equal(p.node_count, 4);
	assert_int_equal(p.tasks, 8);
	assert_int_equal(p.cores, 64);
	assert_true(p.gpus_known);
	assert_string_equal(p.gpus, "0,1,2,3,4,5,6,7");
	assert_string_equal(p.class, "compact,healthy");
	assert_string_equal(p.sample, "1s");
	assert_string_equal(p.env, "ucx,nccl");
	assert_string_equal(p.mark, "slurm-fabric-0123456789abcdef0123456789abcdef");
	assert_true(p.began_ns == INT64_C(1796065504123456789));
	assert_true(p.began_mono_ns == INT64_C(86400000000123));
	assert_false(p.status_known);

	read_golden("task", &p);
	assert_int_equal(p.local_id, 3);
	assert_int_equal(p.pid, 20417);

	read_golden("step-end", &p);
	assert_true(p.status_known);
	assert_int_equal(p.status, 256);
	assert_int_equal(p.hooks_us, 412);
	assert_true(p.ended_ns == INT64_C(1796065567890123456));
}

/* The least that a packet says, as the batch step of a job without GPUs and options does. */
static struct packet bare(void)
{
	struct packet p = {
		.kind = PACKET_STEP_BEGIN,
		.job = 1,
		.step = STEP_ID_BATCH,
		.node_count = 1,
		.tasks = PACKET_UNKNOWN,
		.cores = PACKET_UNKNOWN,
	};

	return p;
}

static void unknown_stays_unknown(void **state)
{
	struct packet p = bare(), back;
	char out[PACKET_MAX];
	int len = packet_write(&p, out);

	(void)state;
	assert_true(len > 0);
	assert_null(memmem(out, (size_t)len, "tasks", 5));
	assert_null(memmem(out, (size_t)len, "gpus", 4));
	assert_non_null(memmem(out, (size_t)len, "step batch\n", 11));
	assert_int_equal(packet_read(out, (size_t)len, &back, NULL), 0);
	assert_int_equal(back.step, STEP_ID_BATCH);
	assert_int_equal(back.tasks, PACKET_UNKNOWN);
	assert_int_equal(back.cores, PACKET_UNKNOWN);
	assert_false(back.gpus_known);
	assert_string_equal(back.class, "");

	p.gpus_known = true; /* no GPU is something else than nothing known of GPUs */
	len = packet_write(&p, out);
	assert_non_null(memmem(out, (size_t)len, "gpus -\n", 7));
	assert_int_equal(packet_read(out, (size_t)len, &back, NULL), 0);
	assert_true(back.gpus_known);
	assert_string_equal(back.gpus, "");
}

static void bad_values_are_not_written(void **state)
{
	struct packet p = bare();
	char out[PACKET_MAX];

	(void)state;
	strcpy(p.class, "a\nb");
	assert_int_equal(packet_write(&p, out), -EINVAL);
	strcpy(p.class, "a b");
	assert_int_equal(packet_write(&p, out), -EINVAL);
	p = bare();
	p.gpus_known = true;
	strcpy(p.gpus, "0,,1");
	assert_int_equal(packet_write(&p, out), -EINVAL);
	strcpy(p.gpus, "0-3");
	assert_int_equal(packet_write(&p, out), -EINVAL);
	p = bare();
	p.node_count = 0;
	assert_int_equal(packet_write(&p, out), -EINVAL);
	p = bare();
	p.kind = (enum packet_kind)7;
	assert_int_equal(packet_write(&p, out), -EINVAL);
}

#define BEGIN_REST "uid 0\nnode_index 0\nnode_count 1\nbegan_ns 1\nbegan_mono_ns 1\n"

static void unknown_keys_are_skipped(void **state)
{
	const char *packet =
		"fabric 1 step-begin\njob 1\nstep 2\ncolour blue and green\n" BEGIN_REST;
	struct packet p;

	(void)state;
	assert_int_equal(packet_read(packet, strlen(packet), &p, NULL), 0);
	assert_int_equal(p.step, 2);
}

static void broken_packets_are_refused(void **state)
{
	(void)state;
	refuse("", "no whole lines");
	refuse("fabric 1 task", "no whole lines");
	refuse("fabric 1\n", "does not begin");
	refuse("fabrics 1 task\n", "does not begin");
	refuse("fabric 2 task\njob 1\n", "newer");
	refuse("fabric 0 task\njob 1\n", "no number");
	refuse("fabric x task\njob 1\n", "no number");
	refuse("fabric 1 tasks\njob 1\n", "unknown kind");
	refuse("fabric 1 task\njob\n", "key value");
	refuse("fabric 1 task\n job 1\n", "key value");
	refuse("fabric 1 task\n\n", "key value");
	refuse("fabric 1 task\njob 1\njob 1\n", "twice");
	refuse("fabric 1 task\njob -1\n", "bad value of \"job\"");
	refuse("fabric 1 task\njob 4294967295\n", "bad value of \"job\"");
	refuse("fabric 1 task\njob 1\nstep two\n", "bad value of \"step\"");
	refuse("fabric 1 task\njob 1\nstep 0\nlocal_id 0\npid 0\n", "bad value of \"pid\"");
	refuse("fabric 1 task\njob 1\nstep 0\nlocal_id 0\n", "\"pid\" is missing");
	refuse("fabric 1 step-begin\njob 1\nstep 0\nclass \n" BEGIN_REST, "bad value of \"class\"");
	refuse("fabric 1 step-begin\njob 1\nstep 0\ngpus 0,\n" BEGIN_REST, "bad value of \"gpus\"");
	refuse("fabric 1 step-begin\njob 1\nstep 0\nuid 0\nnode_index 4\nnode_count 4\n"
	       "began_ns 1\nbegan_mono_ns 1\n",
	       "node 4 of 4");
}

static void long_values_are_refused(void **state)
{
	static char packet[PACKET_MAX + 2];
	struct packet p;
	struct err err;
	size_t head = (size_t)snprintf(packet, sizeof(packet), "fabric 1 step-begin\nclass ");

	(void)state;
	memset(packet + head, 'a', sizeof(packet) - head);
	packet[head + PACKET_WORD] = '\n';
	assert_int_equal(packet_read(packet, head + PACKET_WORD + 1, &p, &err), -EPROTO);
	packet[head + PACKET_WORD] = 'a';
	packet[PACKET_MAX - 1] = '\n';
	assert_int_equal(packet_read(packet, PACKET_MAX, &p, &err), -EPROTO);
	packet[PACKET_MAX] = '\n';
	assert_int_equal(packet_read(packet, PACKET_MAX + 1, &p, &err), -EPROTO);
}

/* Cut at each byte, and each byte replaced: an error or a packet, never more. */
static void no_bytes_hurt(void **state)
{
	static const char *const kinds[] = { "step-begin", "task", "step-end" };
	static const char odd[] = { '\0', '\n', ' ', '0', '\x7f', '\xff' };

	(void)state;
	for (size_t kind = 0; kind < 3; kind++) {
		struct packet p;

		golden(kinds[kind]);
		for (size_t len = 0; len <= text_len; len++) {
			char *exact = malloc(len ? len : 1); /* a read behind it is seen */

			assert_non_null(exact);
			memcpy(exact, text, len);
			packet_read(exact, len, &p, NULL);
			free(exact);
		}
		for (size_t i = 0; i < text_len; i++)
			for (size_t j = 0; j < sizeof(odd); j++) {
				char kept = text[i];

				text[i] = odd[j];
				packet_read(text, text_len, &p, NULL);
				text[i] = kept;
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_files_are_canonical),
		cmocka_unit_test(values_arrive),
		cmocka_unit_test(unknown_stays_unknown),
		cmocka_unit_test(bad_values_are_not_written),
		cmocka_unit_test(unknown_keys_are_skipped),
		cmocka_unit_test(broken_packets_are_refused),
		cmocka_unit_test(long_values_are_refused),
		cmocka_unit_test(no_bytes_hurt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
