/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_source.c - what is found in recorded trees and how it is read; the processes of a step from
 * a made-up /proc; and the sampler around all that, with a file whose read does not come back.
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>

#include "sampler.h"
#include "source.h"
#include "source_processes.h"
#include "unit.h"

/* --- sources ------------------------------------------------------------------------------------
 */

static void remove_tree(const char *path)
{
	char *command = io_format("rm -rf '%s'", path);

	assert_int_equal(system(command), 0);
	free(command);
}

static struct source_list discover(const struct source *source, const char *tree)
{
	struct source_list list = { NULL, 0 };
	char *root = io_format("%s/source/%s", TEST_DATA, tree);

	assert_int_equal(source->discover(root, &list), 0);
	free(root);
	return list;
}

/* The series of that device and name, with the value its file has; NULL when there is none. */
static const struct series *find(const struct source_list *list, const char *device,
				 const char *name, uint64_t *value, bool *valid)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct source_file *file = list->files[i];
		uint64_t values[64] = { 0 };
		bool valids[64] = { false };
		char *text;
		size_t len;

		assert_true(file->count <= 64);
		assert_int_equal(io_read(file->path, 65536, &text, &len, NULL), 0);
		file->source->parse(file, text, values, valids);
		free(text);
		for (size_t k = 0; k < file->count; k++)
			if (!strcmp(file->series[k].device, device) &&
			    !strcmp(file->series[k].name, name)) {
				*value = values[k];
				*valid = valids[k];
				return &file->series[k];
			}
	}
	return NULL;
}

static void infiniband_ports(void **state)
{
	struct source_list list = discover(&source_infiniband, "ib");
	const struct series *s;
	uint64_t value;
	bool valid;

	(void)state;
	s = find(&list, "mlx5_0:1", "port_rcv_data", &value, &valid);
	assert_non_null(s);
	assert_true(valid && value == 1000);
	assert_int_equal(s->scale, 4); /* octets divided by 4 */
	assert_int_equal(s->width, 64);
	assert_false(s->rare);
	s = find(&list, "mlx5_0:1", "symbol_error", &value, &valid);
	assert_true(s && valid && value == 7 && s->width == 16 &&
		    s->behaviour == SERIES_SATURATES && s->rare);
	s = find(&list, "mlx5_0:1", "packet_seq_err", &value, &valid);
	assert_true(s && valid && value == 5 && s->meaning == M_RETRANSMITS && s->width == 32);
	/* An InfiniBand port's congestion is xmit_wait, an Ethernet port's ECN and CNP. */
	assert_non_null(find(&list, "mlx5_0:1", "port_xmit_wait", &value, &valid));
	assert_null(find(&list, "mlx5_0:1", "rp_cnp_handled", &value, &valid));
	assert_null(find(&list, "mlx5_10:1", "port_xmit_wait", &value, &valid));
	assert_non_null(find(&list, "mlx5_10:1", "rp_cnp_handled", &value, &valid));
	/* Not a counter, or unknown what it is. */
	assert_null(find(&list, "mlx5_0:1", "lifespan", &value, &valid));
	source_list_free(&list);
}

static void infiniband_oddities(void **state)
{
	struct source_list list = discover(&source_infiniband, "ib");
	const struct series *s;
	uint64_t value;
	bool valid;

	(void)state;
	/* No extended set: 32 bits that saturate may be meant. */
	s = find(&list, "mlx5_10:1", "port_rcv_data", &value, &valid);
	assert_true(s && s->width == 32 && s->behaviour == SERIES_SATURATES);
	s = find(&list, "mlx5_10:1", "symbol_error", &value, &valid);
	assert_non_null(s);
	assert_false(valid); /* N/A (no PMA) */
	assert_null(find(&list, "mlx5_10:1", "link_downed", &value, &valid));
	/* A driver that neither name nor link tells. */
	assert_null(find(&list, "rocep1:1", "rx_bytes", &value, &valid));
	source_list_free(&list);
}

/* Links do not survive in a tarball, so the tree is copied and gets its link here. */
static void a_driver_known_by_its_link(void **state)
{
	char *root = test_folder(), *link, *command;
	struct source_list list = { NULL, 0 };
	const struct series *s;
	uint64_t value;
	bool valid;

	(void)state;
	command = io_format("cp -r '%s/source/ib/.' '%s' && chmod -R u+w '%s' && "
			    "mkdir -p '%s/sys/class/infiniband/rocep1/device'",
			    TEST_DATA, root, root, root);
	assert_int_equal(system(command), 0);
	link = io_format("%s/sys/class/infiniband/rocep1/device/driver", root);
	assert_int_equal(symlink("../../../../bus/pci/drivers/bnxt_en", link), 0);
	assert_int_equal(source_infiniband.discover(root, &list), 0);
	s = find(&list, "rocep1:1", "rx_bytes", &value, &valid);
	assert_true(s && valid && value == 100 && s->scale == 1);
	assert_null(find(&list, "rocep1:1", "recoverable_errors", &value, &valid));
	source_list_free(&list);
	remove_tree(root);
	free(command);
	free(link);
	free(root);
}

static void whole_disks_only(void **state)
{
	struct source_list list = discover(&source_diskstats, "disk");
	const struct series *s;
	uint64_t value;
	bool valid;

	(void)state;
	s = find(&list, "sda", "sectors_read", &value, &valid);
	assert_true(s && valid && value == 1000 && s->scale == 512 && s->meaning == M_READ_BYTES);
	s = find(&list, "nvme0n1", "io_ms", &value, &valid);
	assert_true(s && valid && value == 7 && s->scale == 1000 && s->width == 32);
	assert_null(find(&list, "sda1", "sectors_read", &value, &valid));
	assert_null(find(&list, "dm-0", "sectors_read", &value, &valid));
	assert_null(find(&list, "loop0", "sectors_read", &value, &valid));
	source_list_free(&list);
}

static void disks_that_go_are_unknown(void **state)
{
	struct source_list list = discover(&source_diskstats, "disk");
	uint64_t values[6] = { 0 };
	bool valid[6] = { false };

	(void)state;
	assert_int_equal(list.count, 1);
	assert_int_equal(list.files[0]->count, 6);
	list.files[0]->source->parse(
		list.files[0],
		"259 0 nvme0n1 10 0 81 5 20 0 161 6 0 8 8\n8 0 other 1 2 3 4 5 6 7 8 9 10 11\n",
		values, valid);
	assert_false(valid[0] || valid[1] || valid[2]);
	assert_true(valid[3] && valid[4] && valid[5]);
	assert_int_equal(values[4], 161);
	memset(valid, 0, sizeof(valid));
	list.files[0]->source->parse(list.files[0], "garbage\n\n8 0 sda 1 2\n", values, valid);
	for (size_t i = 0; i < 6; i++)
		assert_false(valid[i]);
	source_list_free(&list);
}

static void pressure(void **state)
{
	struct source_list list = discover(&source_pressure, "disk");
	static const char *const broken[] = { "",
					      "some",
					      "some avg10=0.00 total=",
					      "some total=5x\n",
					      "full avg10=0 total=7\n",
					      "some avg10=0.00\nfull total=7\n" };
	uint64_t value;
	bool valid;

	(void)state;
	assert_int_equal(list.count, 2); /* there is no memory file */
	assert_non_null(find(&list, "node", "io", &value, &valid));
	assert_true(valid && value == 14816831);
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		valid = false;
		list.files[0]->source->parse(list.files[0], broken[i], &value, &valid);
		assert_false(valid);
	}
	source_list_free(&list);
}

static void nothing_there(void **state)
{
	(void)state;
	for (size_t i = 0; sources[i]; i++) {
		struct source_list list = discover(sources[i], "none");

		assert_int_equal(list.count, 0);
		source_list_free(&list);
	}
}

static void numbers(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(source_number("18446744073709551615\n", &value) && value == UINT64_MAX);
	assert_false(source_number("18446744073709551616", &value));
	assert_false(source_number("", &value));
	assert_false(source_number("-1", &value));
	assert_false(source_number("1 2", &value));
	assert_false(source_number("N/A (no PMA)", &value));
}

/* --- processes ----------------------------------------------------------------------------------
 */

struct fake { /* path to text */
	struct {
		char path[64], text[512];
	} files[16];
};

static void fake_set(struct fake *fake, const char *path, const char *text)
{
	size_t at = 0;

	while (fake->files[at].path[0] && strcmp(fake->files[at].path, path))
		at++;
	assert_true(at < 16);
	snprintf(fake->files[at].path, sizeof(fake->files[at].path), "%s", path);
	snprintf(fake->files[at].text, sizeof(fake->files[at].text), "%s", text);
}

static void fake_process(struct fake *fake, int pid, int parent, int own, int waited, int start)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/p/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (a) b) S %d 1 1 0 -1 4194560 0 0 0 0 %d 0 %d 0 20 0 1 0 %d 0", pid, parent,
		 own, waited, start);
	fake_set(fake, path, own < 0 ? "" : text);
}

static ssize_t fake_read(void *arg, const char *path, char *buf, size_t size)
{
	struct fake *fake = arg;

	for (size_t i = 0; i < 16; i++)
		if (!strcmp(fake->files[i].path, path) && fake->files[i].text[0])
			return snprintf(buf, size, "%s", fake->files[i].text);
	return -1;
}

/* A text of many lines comes in pieces: reading once would give the first four KiB or so. */
static void long_texts_are_whole(void **state)
{
	int fd = open("/proc/self/smaps", O_RDONLY);
	char *text = malloc(1u << 20);
	ssize_t all = source_read(fd, text, 1u << 20), some;

	(void)state;
	assert_true(all > 8192 && all < (1 << 20) - 1);
	assert_int_equal(strlen(text), all);
	assert_int_equal(text[all - 1], '\n');
	/* Where it does not fit: whole lines. */
	for (size_t size = 5000; size < 5100; size++) {
		some = source_read(fd, text, size);
		assert_true(some > 4000 && (size_t)some < size);
		assert_int_equal(text[some - 1], '\n');
		assert_int_equal(text[some], '\0');
	}
	close(fd);
	assert_int_equal(source_read(fd, text, 16), -1);
	free(text);
}

static void processes_never_shrink(void **state)
{
	struct fake fake = { 0 };
	struct process_reader reader = { fake_read, &fake, "/p" };
	struct processes *p = processes_new(10, 7, 0);
	uint64_t us, tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	assert_false(processes_read(p, &reader, &us)); /* nothing is known */
	fake_process(&fake, 10, 1, 5000, 0, 1); /* slurmstepd: its own time is not the step's */
	fake_process(&fake, 11, 10, 100, 0, 2);
	processes_add(p, 11);
	processes_add(p, 11);
	assert_true(processes_read(p, &reader, &us));
	assert_int_equal(us, 100 * tick);
	fake_process(&fake, 11, 10, 150, 30, 2); /* it waited for a child that nobody saw */
	processes_read(p, &reader, &us);
	assert_int_equal(us, 180 * tick);
	fake_process(&fake, 11, 10, -1, 0, 2); /* gone, and nobody has waited for it yet */
	processes_read(p, &reader, &us);
	assert_int_equal(us, 180 * tick);
	fake_process(&fake, 10, 1, 5000, 190, 1); /* slurmstepd did */
	processes_read(p, &reader, &us);
	assert_int_equal(us, 190 * tick);
	fake_process(&fake, 10, 1, -1, 0, 1); /* all are gone: what they took since is not known */
	assert_false(processes_read(p, &reader, &us));
	processes_free(p);
}

static void another_process_with_that_number(void **state)
{
	struct fake fake = { 0 };
	struct process_reader reader = { fake_read, &fake, "/p" };
	struct processes *p = processes_new(10, 7, 0);
	uint64_t us, tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	fake_process(&fake, 10, 1, 0, 0, 1);
	fake_process(&fake, 11, 10, 100, 0, 2);
	processes_add(p, 11);
	processes_read(p, &reader, &us);
	fake_process(&fake, 11, 1, 90000, 0, 3);
	processes_read(p, &reader, &us);
	assert_int_equal(us, 100 * tick);
	processes_free(p);
}

static void cgroup_is_preferred(void **state)
{
	char *folder = test_folder(), *user = io_format("%s/job_7/step_0/user", folder);
	char *stat = io_format("%s/cpu.stat", user),
	     *mounts = io_format("30 1 0:26 / %s rw - cgroup2 none rw\n", folder);
	struct fake fake = { 0 };
	struct process_reader reader = { fake_read, &fake, "/p" };
	struct processes *p = processes_new(10, 7, 0), *other = processes_new(10, 7, 1);
	uint64_t us;

	(void)state;
	assert_int_equal(io_mkdirs(user, 0700, NULL), 0);
	assert_int_equal(io_write_atomic(stat, "", 0, 0600, NULL), 0);
	fake_set(&fake, "/p/10/cgroup", "0::/job_7/step_0/slurm\n");
	fake_set(&fake, "/p/self/mountinfo", mounts);
	assert_true(strlen(stat) < 64);
	fake_set(&fake, stat, "usage_usec 4321\nuser_usec 1\n");
	assert_true(processes_read(p, &reader, &us));
	assert_int_equal(us, 4321);
	assert_false(processes_read(other, &reader, &us)); /* step_0 is not its own */
	fake_set(&fake, stat, "");			   /* the cgroup is gone */
	assert_false(processes_read(p, &reader, &us));
	processes_free(p);
	processes_free(other);
	unlink(stat);
	for (char *at = user; strlen(at) >= strlen(folder); *strrchr(at, '/') = '\0')
		rmdir(at);
	free(folder);
	free(user);
	free(stat);
	free(mounts);
}

static void descendants_are_adopted(void **state)
{
	struct process_born born[] = { { 30, 20 }, { 20, 10 }, { 40, 1 } };
	struct process_scan scan = { .born = born, .count = 3 };
	struct fake fake = { 0 };
	struct process_reader reader = { fake_read, &fake, "/p" };
	struct processes *p = processes_new(10, 7, 0);
	uint64_t us, tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	fake_process(&fake, 10, 1, 0, 0, 1);
	fake_process(&fake, 20, 10, 1, 0, 2);
	fake_process(&fake, 30, 20, 2, 0, 3);
	fake_process(&fake, 40, 1, 4, 0, 4);
	processes_adopt(p, &scan);
	assert_true(processes_read(p, &reader, &us));
	assert_int_equal(us, 3 * tick);
	processes_free(p);
}

/* --- the sampler --------------------------------------------------------------------------------
 */

static void write_text(const char *root, const char *name, const char *text)
{
	char *path = io_format("%s/%s", root, name), *folder = strdup(path);

	*strrchr(folder, '/') = '\0';
	assert_int_equal(io_mkdirs(folder, 0700, NULL), 0);
	assert_int_equal(io_write_atomic(path, text, strlen(text), 0600, NULL), 0);
	free(folder);
	free(path);
}

/* The next pass that answers the ticket; NULL when none comes in that time. */
static struct sampler_pass *wait_for(struct sampler *s, uint64_t ticket, int ms)
{
	char path[512];

	for (int i = 0; i < ms / 10; i++) {
		struct sampler_pass *pass = sampler_take(s);
		struct timespec pause = { 0, 10000000 };

		if (pass && pass->ticket >= ticket)
			return pass;
		sampler_pass_free(pass);
		sampler_check(s, io_mono_ns(), path, sizeof(path));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void sampler_reads_on_request(void **state)
{
	char *root = test_folder();
	int notify = eventfd(0, EFD_NONBLOCK);
	struct sampler *s;
	struct sampler_pass *pass;

	(void)state;
	write_text(root, "proc/pressure/io", "some avg10=0.00 total=5\n");
	s = sampler_start(root, notify, NULL);
	assert_non_null(s);
	pass = wait_for(s, sampler_request(s), 5000);
	assert_non_null(pass);
	assert_int_equal(pass->series->count, 1);
	assert_true(pass->valid[0] && pass->values[0] == 5);
	assert_int_equal(pass->nominal_ns, 0);
	sampler_pass_free(pass);
	/* A device that comes is found when it is asked for, behind what was there. */
	write_text(root, "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "7\n");
	sampler_rescan(s);
	pass = wait_for(s, sampler_request(s), 5000);
	assert_non_null(pass);
	assert_int_equal(pass->series->count, 2);
	assert_true(pass->valid[1] && pass->values[1] == 7);
	assert_string_equal(pass->series->list[0]->device, "node");
	sampler_pass_free(pass);
	sampler_stop(s);
	close(notify);
	remove_tree(root);
	free(root);
}

static void a_read_that_hangs_is_left_alone(void **state)
{
	char *root = test_folder(), path[512];
	char *fifo = io_format("%s/proc/pressure/memory", root);
	int notify = eventfd(0, EFD_NONBLOCK), fd;
	struct sampler_pass *pass;
	struct sampler *s;

	(void)state;
	write_text(root, "proc/pressure/io", "some avg10=0.00 total=5\n");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	s = sampler_start(root, notify, NULL);
	assert_non_null(s);
	pass = wait_for(s, sampler_request(s), 10000);
	assert_non_null(pass);
	assert_int_equal(pass->series->count, 2);
	assert_true(pass->valid[0]);
	assert_false(pass->valid[1]);
	sampler_pass_free(pass);
	assert_true(sampler_hung(s, path, sizeof(path)));
	assert_string_equal(path, fifo);
	/* It comes back: the file counts again. */
	fd = open(fifo, O_RDWR | O_NONBLOCK);
	assert_true(fd >= 0);
	assert_true(write(fd, "some avg10=0.00 total=8\n", 24) == 24);
	for (int i = 0; i < 500 && sampler_hung(s, path, sizeof(path)); i++)
		usleep(10000);
	assert_false(sampler_hung(s, path, sizeof(path)));
	assert_true(write(fd, "some avg10=0.00 total=9\n", 24) == 24);
	pass = wait_for(s, sampler_request(s), 5000);
	assert_non_null(pass);
	assert_true(pass->valid[1] && pass->values[1] == 9);
	sampler_pass_free(pass);
	sampler_stop(s);
	close(fd);
	close(notify);
	remove_tree(root);
	free(fifo);
	free(root);
}

/* A search for devices that hung has found none: it is made again when it came back. */
static void a_search_that_hangs_is_made_again(void **state)
{
	char *root = test_folder(), path[512];
	char *fifo = io_format("%s/sys/class/infiniband/mlx5_0/ports/1/link_layer", root);
	int notify = eventfd(0, EFD_NONBLOCK), fd;
	struct sampler_pass *pass = NULL;
	struct sampler *s;

	(void)state;
	write_text(root, "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "7\n");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	s = sampler_start(root, notify, NULL);
	assert_non_null(s);
	for (int i = 0; i < 1000 && !sampler_hung(s, path, sizeof(path)); i++) {
		sampler_check(s, io_mono_ns(), path, sizeof(path));
		usleep(10000);
	}
	assert_true(sampler_hung(s, path, sizeof(path)));
	fd = open(fifo, O_RDWR | O_NONBLOCK);
	assert_true(fd >= 0);
	unlink(fifo); /* who waits gets an answer, who comes later none */
	assert_true(write(fd, "InfiniBand\n", 11) == 11);
	close(fd);
	for (int i = 0; i < 100 && (!pass || !pass->series || pass->series->count == 0); i++) {
		sampler_pass_free(pass);
		pass = wait_for(s, sampler_request(s), 5000);
		usleep(10000);
	}
	assert_non_null(pass);
	assert_non_null(pass->series);
	assert_true(pass->series->count > 0);
	sampler_pass_free(pass);
	sampler_stop(s);
	close(notify);
	remove_tree(root);
	free(fifo);
	free(root);
}

static void the_grid_is_dithered_and_even(void **state)
{
	int notify = eventfd(0, EFD_NONBLOCK), seen = 0;
	const int64_t interval = 50000000;
	struct sampler *s = sampler_start("/nonexistent", notify, NULL);
	int64_t last = 0, end = io_mono_ns() + 20 * interval;

	(void)state;
	assert_non_null(s);
	sampler_interval(s, interval);
	while (io_mono_ns() < end) {
		struct sampler_pass *pass = sampler_take(s);

		if (!pass) {
			usleep(2000);
			continue;
		}
		seen++;
		assert_true(pass->mono_ns >= pass->nominal_ns - interval * 3 / 10 - 1);
		if (last)
			assert_int_equal((pass->nominal_ns - last) % interval, 0);
		last = pass->nominal_ns;
		sampler_pass_free(pass);
	}
	assert_true(seen >= 5 && seen <= 21);
	sampler_stop(s);
	close(notify);
}

/* Steps that come and go change the interval all the time: the others still get samples. */
static void a_restless_grid_is_one(void **state)
{
	int notify = eventfd(0, EFD_NONBLOCK), seen = 0;
	struct sampler *s = sampler_start("/nonexistent", notify, NULL);

	(void)state;
	assert_non_null(s);
	for (int i = 0; i < 100; i++) {
		struct sampler_pass *pass;

		sampler_interval(s, i % 2 ? 100000000 : 80000000);
		usleep(20000);
		while ((pass = sampler_take(s))) {
			seen += pass->nominal_ns != 0;
			sampler_pass_free(pass);
		}
	}
	assert_true(seen >= 10);
	sampler_stop(s);
	close(notify);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(infiniband_ports),
		cmocka_unit_test(infiniband_oddities),
		cmocka_unit_test(a_driver_known_by_its_link),
		cmocka_unit_test(whole_disks_only),
		cmocka_unit_test(disks_that_go_are_unknown),
		cmocka_unit_test(pressure),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(numbers),
		cmocka_unit_test(processes_never_shrink),
		cmocka_unit_test(another_process_with_that_number),
		cmocka_unit_test(cgroup_is_preferred),
		cmocka_unit_test(descendants_are_adopted),
		cmocka_unit_test(sampler_reads_on_request),
		cmocka_unit_test(a_read_that_hangs_is_left_alone),
		cmocka_unit_test(a_search_that_hangs_is_made_again),
		cmocka_unit_test(the_grid_is_dithered_and_even),
		cmocka_unit_test(a_restless_grid_is_one),
		cmocka_unit_test(long_texts_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
