/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_source.c - counter files: the input is the text of a file, read as each kind of source reads
 * it. Names of disks come from it as well, and end up in records.
 */
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"
#include "source.h"

/* All files of a source read the same text. */
static void read_files(const struct source *source, const char *text)
{
	struct source_list list = { NULL, 0 };

	must(source->discover(fuzz_folder(), &list) == 0);
	for (size_t i = 0; i < list.count; i++) {
		const struct source_file *file = list.files[i];
		uint64_t *values = fuzz_have(calloc(file->count + 1, sizeof(*values)));
		bool *valid = fuzz_have(calloc(file->count + 1, sizeof(*valid)));

		source->parse(file, text, values, valid);
		free(values);
		free(valid);
	}
	source_list_free(&list);
}

static void make_folder(void)
{
	static bool ready;

	if (ready)
		return;
	ready = true;
	fuzz_put("proc/pressure/cpu", "", 0);
	fuzz_put("sys/block/sda/size", "1\n", 2);
	fuzz_put("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "1\n", 2);
}

static void run(const char *data, size_t len)
{
	char small[64], *buf = fuzz_have(malloc(len + 2));
	int fd = open(fuzz_file(data, len), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	must(fd >= 0);
	make_folder();
	fuzz_put("proc/diskstats", data, len);
	n = source_read(fd, buf, len + 2);
	must(n >= 0 && (size_t)n <= len && buf[n] == '\0');
	for (size_t i = 0; sources[i]; i++)
		read_files(sources[i], buf);
	n = source_read(fd, small, sizeof(small)); /* whole lines or nothing */
	must(n >= 0 && (size_t)n < sizeof(small));
	must((size_t)n == len || n == 0 || small[n - 1] == '\n');
	close(fd);
	free(buf);
}

const struct fuzz_target fuzz_source = {
	"source",
	"source/disk/proc/diskstats source/disk/proc/pressure/* "
	"source/ib/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data",
	run
};
