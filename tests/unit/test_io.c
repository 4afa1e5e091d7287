/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_io.c - bounded reading, atomic writing (include/io.h), and sentences (include/err.h).
 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static void a_text_grows(void **state)
{
	struct io_text t = { 0 };
	char *text;

	(void)state;
	for (int i = 0; i < 1000; i++)
		io_add(&t, "%d%s", i % 10, i % 2 ? "" : ",");
	io_add(&t, "%s", "");
	assert_int_equal(t.used, 1500);
	text = io_end(&t);
	assert_int_equal(strlen(text), 1500);
	assert_memory_equal(text, "0,12,34,56,78,90,1", 18);
	free(text);
	text = io_end(&t); /* an empty one is a text, too */
	assert_string_equal(text, "");
	free(text);
	t.failed = true;
	io_add(&t, "x");
	assert_null(io_end(&t));
}

static void atomic_write(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/file", folder), *text;
	struct err err = { "" };
	struct stat st;
	size_t len;
	int entries = 0;
	DIR *dir;

	(void)state;
	assert_int_equal(io_write_atomic(path, "one\n", 4, 0644, &err), 0);
	assert_int_equal(io_write_atomic(path, "two\0x", 5, 0600, &err), 0);
	assert_int_equal(io_read(path, 5, &text, &len, &err), 0);
	assert_int_equal(len, 5);
	assert_memory_equal(text, "two\0x", 6);
	free(text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	dir = opendir(folder);
	while (readdir(dir))
		entries++;
	closedir(dir);
	assert_int_equal(entries, 3); /* ".", "..", the file: no temporary one */
	unlink(path);
	rmdir(folder);
	assert_int_equal(io_write_atomic(path, "x", 1, 0644, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	free(path);
	free(folder);
}

static void bounded_read(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/file", folder), *text, *big = calloc(1, 20000);
	struct err err = { "" };
	size_t len;

	(void)state;
	assert_int_equal(io_write_atomic(path, big, 20000, 0644, &err), 0);
	assert_int_equal(io_read(path, 19999, &text, &len, &err), -EFBIG);
	assert_int_equal(io_read(path, 20000, &text, &len, &err), 0);
	assert_int_equal(len, 20000);
	free(text);
	assert_int_equal(io_read(path, 0, &text, &len, &err), -EFBIG);
	assert_int_equal(io_read("/dev/zero", 100000, &text, &len, &err), -EFBIG);
	assert_int_equal(io_read(folder, 100, &text, &len, &err), -EISDIR);
	unlink(path);
	assert_int_equal(io_read(path, 100, &text, &len, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	rmdir(folder);
	free(big);
	free(path);
	free(folder);
}

static void folders(void **state)
{
	char *folder = test_folder(), *deep = io_format("%s/a/b/c", folder), *path;
	struct err err = { "" };
	struct stat st;

	(void)state;
	assert_int_equal(io_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(io_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(stat(deep, &st), 0);
	path = io_format("%s/file", deep);
	assert_int_equal(io_write_atomic(path, "", 0, 0644, &err), 0);
	assert_int_equal(io_mkdirs(path, 0755, &err), -ENOTDIR);
	unlink(path);
	free(path);
	for (int i = 0; i < 3; i++) {
		rmdir(deep);
		*strrchr(deep, '/') = '\0';
	}
	assert_int_equal(rmdir(folder), 0);
	free(deep);
	free(folder);
}

static void sentences(void **state)
{
	struct err err = { "" };
	char longer[2000];

	(void)state;
	assert_int_equal(err_set(&err, EINVAL, "key %d is odd", 3), -EINVAL);
	assert_int_equal(err_prefix(&err, -EINVAL, "%s:%d", "file", 9), -EINVAL);
	assert_string_equal(err.text, "file:9: key 3 is odd");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&err, EINVAL, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_prefix(&err, 0, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(err_set(NULL, EIO, "nobody listens"), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_grows), cmocka_unit_test(atomic_write),
		cmocka_unit_test(bounded_read), cmocka_unit_test(folders),
		cmocka_unit_test(sentences),
	};

	return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
