/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_spool.c - what waits for sfabricctld: on disk, in memory while the disk can't be written,
 * put aside when it was refused; and the clock's offset from four times.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "sender.h"
#include "spool.h"
#include "unit.h"
#include "wire.h"

static const char id_a[] = "00000000000000000000000000000001";
static const char id_b[] = "00000000000000000000000000000002";

/* The sender's server in these tests: answers what is set here. */
static int answer_status;
static const char *answer_json;
static int asked;

int wire_post(const struct conf *conf, const char *path, const char *json, int timeout_ms,
	      struct wire_reply *reply, struct err *err)
{
	(void)conf;
	(void)path;
	(void)json;
	(void)timeout_ms;
	__atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
	if (answer_status == 0)
		return err_set(err, ECONNREFUSED, "nobody is there");
	memset(reply, 0, sizeof(*reply));
	reply->status = answer_status;
	reply->json = answer_json ? strdup(answer_json) : NULL;
	reply->length = answer_json ? strlen(answer_json) : 0;
	reply->sent_ns = 1000;
	reply->received_ns = 1600;
	return 0;
}

void wire_reply_clear(struct wire_reply *reply)
{
	free(reply->json);
	reply->json = NULL;
}

/* Setting the node's clock, for this program alone. */
static int64_t clock_set_ns;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, now);

	if (rc == 0 && clock == CLOCK_REALTIME)
		now->tv_sec += (time_t)(clock_set_ns / 1000000000);
	return rc;
}

static void quiet(int level, const char *text)
{
	(void)level;
	(void)text;
}

static const struct agent_log log_nothing = { quiet };

static size_t count_files(const char *folder, const char *name)
{
	char *path = io_format("%s/%s", folder, name);
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	free(path);
	return count;
}

static void remove_tree(const char *path)
{
	char *command = io_format("rm -rf '%s'", path);

	assert_int_equal(system(command), 0);
	free(command);
}

static void in_and_out(void **state)
{
	char *folder = test_folder();
	struct spool *s = spool_open(folder, NULL);
	struct spool_item item;

	(void)state;
	assert_non_null(s);
	assert_int_equal(spool_next(s, &item), 0);
	assert_int_equal(spool_put(s, SPOOL_RECORD, id_a, "{\"a\":1}", NULL), 0);
	assert_int_equal(spool_put(s, SPOOL_BEGIN, id_a, "{\"b\":1}", NULL), 0);
	assert_int_equal(spool_put(s, SPOOL_MAP, NULL, "{\"m\":1}", NULL), 0);
	assert_int_equal(spool_put(s, SPOOL_MAP, NULL, "{\"m\":2}", NULL), 0);
	assert_int_equal(spool_pending(s), 3);
	spool_free(s);
	s = spool_open(folder, NULL); /* it survives us */
	assert_int_equal(spool_pending(s), 3);
	assert_int_equal(spool_next(s, &item), 1);
	assert_int_equal(item.kind, SPOOL_MAP);
	assert_string_equal(item.json, "{\"m\":2}");
	spool_done(s, &item);
	spool_item_clear(&item);
	assert_int_equal(spool_next(s, &item), 1);
	assert_int_equal(item.kind, SPOOL_BEGIN);
	assert_int_equal(spool_refuse(s, &item, NULL), 0);
	spool_item_clear(&item);
	assert_int_equal(count_files(folder, "bad"), 1);
	assert_int_equal(spool_next(s, &item), 1);
	assert_int_equal(item.kind, SPOOL_RECORD);
	spool_item_clear(&item); /* not sent: it comes again */
	assert_int_equal(spool_next(s, &item), 1);
	assert_string_equal(item.json, "{\"a\":1}");
	spool_done(s, &item);
	spool_item_clear(&item);
	assert_int_equal(spool_pending(s), 0);
	assert_int_equal(count_files(folder, "out"), 0);
	spool_free(s);
	remove_tree(folder);
	free(folder);
}

static void a_newer_map_survives_the_old_one(void **state)
{
	char *folder = test_folder();
	struct spool *s = spool_open(folder, NULL);
	struct spool_item item;

	(void)state;
	spool_put(s, SPOOL_MAP, NULL, "1", NULL);
	assert_int_equal(spool_next(s, &item), 1);
	spool_put(s, SPOOL_MAP, NULL, "2", NULL); /* while the first one is on its way */
	spool_done(s, &item);
	spool_item_clear(&item);
	assert_int_equal(spool_next(s, &item), 1);
	assert_string_equal(item.json, "2");
	spool_done(s, &item);
	spool_put(s, SPOOL_MAP, NULL, "3", NULL);
	spool_repeat_map(s, "2", item.generation); /* too late */
	spool_item_clear(&item);
	assert_int_equal(spool_next(s, &item), 1);
	assert_string_equal(item.json, "3");
	spool_done(s, &item);
	spool_repeat_map(s, "3", item.generation);
	spool_item_clear(&item);
	assert_int_equal(spool_next(s, &item), 1);
	assert_string_equal(item.json, "3");
	spool_item_clear(&item);
	spool_free(s);
	remove_tree(folder);
	free(folder);
}

/* What has arrived need not reach the disk; what waits must. */
static void only_what_waits_is_synced(void **state)
{
	char *folder = test_folder();
	struct spool *s = spool_open(folder, NULL);
	struct spool_item item;

	(void)state;
	assert_true(spool_synced(s));
	spool_put(s, SPOOL_RECORD, id_a, "1", NULL);
	assert_false(spool_synced(s));
	assert_int_equal(spool_next(s, &item), 1);
	spool_done(s, &item);
	spool_item_clear(&item);
	assert_true(spool_synced(s));
	spool_put(s, SPOOL_RECORD, id_a, "1", NULL);
	spool_put(s, SPOOL_RECORD, id_b, "2", NULL);
	spool_put(s, SPOOL_RECORD, id_b, "3", NULL);
	assert_int_equal(spool_sync(s, NULL), 0);
	assert_true(spool_synced(s));
	assert_int_equal(spool_pending(s), 2);
	spool_free(s);
	s = spool_open(folder, NULL); /* what an earlier run left may not be on the disk */
	assert_false(spool_synced(s));
	assert_int_equal(spool_sync(s, NULL), 0);
	assert_true(spool_synced(s));
	spool_free(s);
	remove_tree(folder);
	free(folder);
}

static void a_file_that_lost_its_bytes_is_dropped(void **state)
{
	char *folder = test_folder(), *empty = io_format("%s/out/%s.json", folder, id_a);
	struct spool *s = spool_open(folder, NULL);
	struct spool_item item;

	(void)state;
	assert_int_equal(io_write_atomic(empty, "", 0, 0600, NULL), 0);
	spool_put(s, SPOOL_RECORD, id_b, "2", NULL);
	assert_int_equal(spool_next(s, &item), 1);
	assert_string_equal(item.json, "2");
	spool_item_clear(&item);
	assert_int_equal(count_files(folder, "out"), 1);
	spool_free(s);
	remove_tree(folder);
	free(empty);
	free(folder);
}

static void leftovers_go(void **state)
{
	char *folder = test_folder(), *left = io_format("%s/out/%s.json.Ab3xYz", folder, id_a);
	struct spool *s = spool_open(folder, NULL);

	(void)state;
	assert_int_equal(io_write_atomic(left, "{", 1, 0600, NULL), 0);
	spool_free(s);
	s = spool_open(folder, NULL);
	assert_int_equal(spool_pending(s), 0);
	assert_int_equal(count_files(folder, "out"), 0);
	spool_free(s);
	remove_tree(folder);
	free(left);
	free(folder);
}

/* A file in the way of the folder makes every write fail, for root as well. */
static void memory_while_the_disk_fails(void **state)
{
	char *folder = test_folder(), *out = io_format("%s/out", folder), id[RECORD_ID];
	struct spool *s = spool_open(folder, NULL);
	struct err err = { "" };
	struct spool_item item;

	(void)state;
	assert_int_equal(rmdir(out), 0);
	assert_int_equal(io_write_atomic(out, "x", 1, 0600, NULL), 0);
	assert_int_equal(spool_put(s, SPOOL_RECORD, id_a, "a", &err), 1);
	assert_true(strlen(err.text) > 0);
	assert_int_equal(spool_put(s, SPOOL_RECORD, id_b, "b", NULL), 1);
	assert_int_equal(spool_pending(s), 2);
	assert_int_equal(spool_next(s, &item), 1);
	assert_string_equal(item.json, "a");
	spool_done(s, &item);
	spool_item_clear(&item);
	assert_int_equal(spool_pending(s), 1);
	for (int i = 0; i < SPOOL_MEMORY_MAX + 10; i++) { /* bounded */
		snprintf(id, sizeof(id), "%032x", 100 + i);
		spool_put(s, SPOOL_RECORD, id, "c", NULL);
	}
	assert_int_equal(spool_pending(s), SPOOL_MEMORY_MAX);
	assert_int_equal(unlink(out), 0);
	assert_int_equal(mkdir(out, 0700), 0);
	assert_int_equal(spool_put(s, SPOOL_RECORD, id_a, "d", NULL), 0);
	assert_int_equal(count_files(folder, "out"), SPOOL_MEMORY_MAX + 1);
	assert_int_equal(spool_pending(s), SPOOL_MEMORY_MAX + 1);
	spool_free(s);
	remove_tree(folder);
	free(out);
	free(folder);
}

/* One record and a server that answers like this: what waits and what was refused afterwards. */
static void send_one(int status, const char *json, size_t waits, size_t refused)
{
	char *folder = test_folder();
	struct conf conf = { .server_count = 1 };
	struct sender_way way = sender_to_server(&conf);
	struct spool *spool = spool_open(folder, NULL);
	struct sender *s = sender_start(&way, spool, &log_nothing, NULL);

	answer_status = status;
	answer_json = json;
	__atomic_store_n(&asked, 0, __ATOMIC_SEQ_CST);
	sender_put(s, SPOOL_RECORD, id_a, "{}");
	for (int i = 0; i < 500 && __atomic_load_n(&asked, __ATOMIC_SEQ_CST) == 0; i++)
		usleep(10000);
	assert_true(sender_stop(s, 300));
	assert_int_equal(spool_pending(spool), waits);
	assert_int_equal(count_files(folder, "bad"), refused);
	spool_free(spool);
	remove_tree(folder);
	free(folder);
}

static void answers(void **state)
{
	(void)state;
	send_one(200, "{\"received_ns\":1200,\"sent_ns\":1300}", 0, 0);
	send_one(0, NULL, 1, 0);
	send_one(500, NULL, 1, 0);
	send_one(503, "{\"error\":\"busy\"}", 1, 0);
	send_one(400, "{\"error\":\"no record\"}", 0, 1);
	send_one(413, "not JSON", 0, 1);
	send_one(401, "{\"error\":\"credential expired\"}", 1, 0);
	send_one(401, "{\"error\":\"credential rewound\"}", 1, 0);
	send_one(401, "{\"error\":\"wrong cluster\"}", 1, 0);
	send_one(403, "{\"error\":\"root only\"}", 1, 0);
}

static void clock_is_learned(void **state)
{
	char *folder = test_folder();
	struct conf conf = { .server_count = 1 };
	struct sender_way way = sender_to_server(&conf);
	struct spool *spool = spool_open(folder, NULL);
	struct sender *s = sender_start(&way, spool, &log_nothing, NULL);
	int64_t offset, bound;

	(void)state;
	answer_status = 200;
	answer_json = "{\"received_ns\":1200,\"sent_ns\":1300}";
	assert_false(sender_clock(s, io_mono_ns(), &offset, &bound));
	sender_put(s, SPOOL_RECORD, id_a, "{}");
	for (int i = 0; i < 500 && spool_pending(spool) > 0; i++)
		usleep(10000);
	assert_true(sender_clock(s, io_mono_ns(), &offset, &bound));
	assert_int_equal(offset, 50);
	assert_true(bound >= 250);
	assert_true(sender_clock(s, io_mono_ns() + INT64_C(10000000000), &offset, &bound));
	assert_true(bound >= 1000250); /* 100 ppm of ten seconds */
	clock_set_ns = INT64_C(-3600000000000);
	assert_true(sender_clock(s, io_mono_ns(), &offset, &bound));
	assert_true(llabs(offset + INT64_C(3600000000000)) < 10000000);
	clock_set_ns = 0;
	/* The server's clock was set by an hour: the exchange is no better than the last one, but
	 * both can't be true. */
	answer_json = "{\"received_ns\":3600000001100,\"sent_ns\":3600000001200}";
	sender_put(s, SPOOL_RECORD, id_a, "{}");
	for (int i = 0; i < 500 && spool_pending(spool) > 0; i++)
		usleep(10000);
	assert_true(sender_clock(s, io_mono_ns(), &offset, &bound));
	assert_true(llabs(offset + INT64_C(3600000000000)) < 10000000);
	assert_true(sender_stop(s, 100));
	spool_free(spool);
	remove_tree(folder);
	free(folder);
}

static void offsets(void **state)
{
	int64_t offset, bound;

	(void)state;
	/* Our clock is 50 ahead, 100 there, 100 back, 10 in between. */
	assert_true(clock_offset(1050, 1100, 1110, 1260, &offset, &bound));
	assert_int_equal(offset, 50);
	assert_int_equal(bound, 100);
	assert_false(clock_offset(1000, 1200, 1100, 1300, &offset, &bound));
	assert_false(clock_offset(1000, 1100, 1500, 1300, &offset, &bound));
	assert_false(clock_offset(1300, 1100, 1100, 1000, &offset, &bound));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_and_out),
		cmocka_unit_test(a_newer_map_survives_the_old_one),
		cmocka_unit_test(only_what_waits_is_synced),
		cmocka_unit_test(a_file_that_lost_its_bytes_is_dropped),
		cmocka_unit_test(leftovers_go),
		cmocka_unit_test(memory_while_the_disk_fails),
		cmocka_unit_test(answers),
		cmocka_unit_test(clock_is_learned),
		cmocka_unit_test(offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
