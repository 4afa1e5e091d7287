/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_env.c - fabric.so's reading of the env file: right lists from the golden file, and false,
 * never a crash or half a list, for everything that is not one.
 */
#include "unit.h"

#include "env.h"

#define BOOT "5b7c1f0e-2f4a-4d0e-9f3b-6a1d8c2e7b90"
#define FILE_TEXT                                                                                  \
	"fabric-env 1 " BOOT "\n"                                                                  \
	"nccl =a:1,b:1\n"                                                                          \
	"gpu 0 a:1,b:1 a:1\n"                                                                      \
	"gpu 1 b:1,c:1 c:1\n"                                                                      \
	"gpu 2 - -\n"                                                                              \
	"gpu 3 d:1\n"                                                                              \
	"gpu 10 e:1 e:1\n"

static char out[ENV_LIST];

static bool list(int which, const char *gpus)
{
	return env_gpu_list(FILE_TEXT, strlen(FILE_TEXT), which, gpus, out, sizeof(out));
}

static void wanted_words(void **state)
{
	(void)state;
	assert_int_equal(env_wanted_parse("none"), 0);
	assert_int_equal(env_wanted_parse("ucx"), ENV_UCX);
	assert_int_equal(env_wanted_parse("ucx,nccl"), ENV_UCX | ENV_NCCL);
	assert_int_equal(env_wanted_parse("nvshmem,nccl,ucx"), ENV_UCX | ENV_NCCL | ENV_NVSHMEM);
	assert_int_equal(env_wanted_parse(""), -1);
	assert_int_equal(env_wanted_parse("ucx,"), -1);
	assert_int_equal(env_wanted_parse(",ucx"), -1);
	assert_int_equal(env_wanted_parse("ucx,none"), -1);
	assert_int_equal(env_wanted_parse("UCX"), -1);
	assert_int_equal(env_wanted_parse("ucxx"), -1);
}

static void golden_file_is_read(void **state)
{
	size_t len;
	char *text = test_data("contract/env", &len);

	(void)state;
	assert_true(env_file_valid(text, len, BOOT));
	assert_true(env_nccl(text, len, out, sizeof(out)));
	assert_string_equal(
		out, "=mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1");
	assert_true(env_gpu_list(text, len, ENV_UCX, "7,0", out, sizeof(out)));
	assert_string_equal(out, "mlx5_10:1,mlx5_0:1");
	free(text);
}

/* A file that ends early is not valid, wherever it ends; the other functions just find less. */
static void every_cut_is_harmless(void **state)
{
	size_t len;
	char *text = test_data("contract/env", &len);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		char *part = malloc(i ? i : 1);
		memcpy(part, text, i);
		if (i == 0 || text[i - 1] != '\n')
			assert_false(env_file_valid(part, i, BOOT));
		env_nccl(part, i, out, sizeof(out));
		if (env_gpu_list(part, i, ENV_UCX, "0,1,2", out, sizeof(out)))
			assert_non_null(strstr(out, "mlx5_0:1,mlx5_3:1,mlx5_"));
		free(part);
	}
	free(text);
}

static void other_files_are_not_valid(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"fabric-env 1\n",
		"fabric-env 1 \n",
		"fabric-env 2 " BOOT "\n",
		"fabric-env 1 " BOOT,
		"fabric-env 1 " BOOT " \n",
		"fabric-env 1 0" BOOT "\n",
		"fabric-env 11 " BOOT "\n",
		" fabric-env 1 " BOOT "\n",
		"fabric-env 1 -\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (env_file_valid(bad[i], strlen(bad[i]), BOOT))
			fail_msg("\"%s\" was taken for valid", bad[i]);
	/* a map without a boot id is valid for nobody */
	assert_false(env_file_valid("fabric-env 1 -\n", 15, "-"));
	assert_false(env_file_valid("fabric-env 1 \n", 14, ""));
}

static void lists_are_joined_in_order(void **state)
{
	(void)state;
	assert_true(list(ENV_UCX, "0,1"));
	assert_string_equal(out, "a:1,b:1,c:1");
	assert_true(list(ENV_UCX, "1,0"));
	assert_string_equal(out, "b:1,c:1,a:1");
	assert_true(list(ENV_NVSHMEM, "1,0,10"));
	assert_string_equal(out, "c:1,a:1,e:1");
	assert_true(list(ENV_UCX, "10"));
	assert_string_equal(out, "e:1");
}

static void doubt_gives_no_list(void **state)
{
	static const char *const bad[] = { "",
					   "4",
					   "0,4",
					   "2",
					   "3",
					   "0,,1",
					   ",0",
					   "0-1",
					   "a",
					   "-1",
					   " 0",
					   "0 ",
					   "99999999999999999999",
					   "0,2" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(out, 'x', sizeof(out));
		if (list(ENV_UCX, bad[i]))
			fail_msg("\"%s\" gave \"%s\"", bad[i], out);
		assert_int_equal(out[0], '\0');
	}
	assert_false(list(0, "0"));
	assert_false(list(ENV_NCCL, "0"));
}

static void what_does_not_fit_is_not_given(void **state)
{
	char small[8];

	(void)state;
	for (size_t size = 0; size <= sizeof(small); size++) {
		bool fits = env_gpu_list(FILE_TEXT, strlen(FILE_TEXT), ENV_UCX, "0", small, size);
		assert_int_equal(fits, size == 8);
		if (size)
			assert_string_equal(small, fits ? "a:1,b:1" : "");
		fits = env_nccl(FILE_TEXT, strlen(FILE_TEXT), small, size);
		assert_false(fits); /* 8 characters and their end */
	}
}

static void hostile_bytes_give_no_list(void **state)
{
	static const char nul[] = "gpu 0 a\0b a\n";
	static const char nccl[] = "nccl =a\0b\n";

	(void)state;
	assert_false(env_gpu_list(nul, sizeof(nul) - 1, ENV_UCX, "0", out, sizeof(out)));
	assert_false(env_nccl(nccl, sizeof(nccl) - 1, out, sizeof(out)));
	assert_false(env_nccl("nccl \n", 6, out, sizeof(out)));
	assert_false(env_nccl("nccl\n", 5, out, sizeof(out)));
	assert_false(env_nccl("ncclx =a\n", 9, out, sizeof(out)));
	assert_false(env_nccl("", 0, out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wanted_words),
		cmocka_unit_test(golden_file_is_read),
		cmocka_unit_test(every_cut_is_harmless),
		cmocka_unit_test(other_files_are_not_valid),
		cmocka_unit_test(lists_are_joined_in_order),
		cmocka_unit_test(doubt_gives_no_list),
		cmocka_unit_test(what_does_not_fit_is_not_given),
		cmocka_unit_test(hostile_bytes_give_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
