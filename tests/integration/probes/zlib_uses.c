/* Calls any function of zlib-ng by its name: all but one in a run are what no scenario runs.

What each call needs is made before, in every run: a stream of each kind, and a file of each kind.
*/

/* As the library was built, which takes lengths of 64 bits on machines of 32. */
#define _LARGEFILE64_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define WITH_GZFILEOP 1 /* as the library was built */
#include "zlib-ng.h"

static uint8_t text[] = "a text, a text that repeats itself: a text";
static uint8_t made[4096];
static uint8_t window[1 << 15];
static zng_stream deflating, inflating, other;
static gzFile written, read_again;
static zng_gz_header header;
static uint32_t size32;
static int32_t number;

static uint32_t feed(void* from, const uint8_t** to) { *to = text; return from == NULL; }
static int32_t drain(void* to, uint8_t* from, uint32_t size) { return to != from + size; }

static long packed(int32_t level, int32_t strategy) {
  zng_stream stream = {0};
  stream.next_in = text;
  stream.avail_in = sizeof text;
  stream.next_out = made;
  stream.avail_out = sizeof made;
  if (zng_deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS, 8, strategy) != Z_OK) return -1;
  return zng_deflate(&stream, Z_FINISH) == Z_STREAM_END ? (long)stream.total_out : -2;
}

#define USES(USE) \
  USE(zng_deflateSetDictionary, zng_deflateSetDictionary(&deflating, text, 9)) \
  USE(zng_deflateGetDictionary, zng_deflateGetDictionary(&deflating, made, &size32)) \
  USE(zng_deflateCopy, zng_deflateCopy(&other, &deflating)) \
  USE(zng_deflateParams, zng_deflateParams(&deflating, 4, Z_FILTERED)) \
  USE(zng_deflateTune, zng_deflateTune(&deflating, 4, 4, 8, 16)) \
  USE(zng_deflateBound, (long)zng_deflateBound(&deflating, 1000)) \
  USE(zng_deflatePending, zng_deflatePending(&deflating, &size32, &number)) \
  USE(zng_deflatePrime, zng_deflatePrime(&deflating, 3, 5)) \
  USE(zng_deflateSetHeader, zng_deflateSetHeader(&deflating, &header)) \
  USE(zng_deflateSetParams, zng_deflateSetParams(&deflating, NULL, 0)) \
  USE(zng_deflateGetParams, zng_deflateGetParams(&deflating, NULL, 0)) \
  USE(zng_inflateSetDictionary, zng_inflateSetDictionary(&inflating, text, 9)) \
  USE(zng_inflateGetDictionary, zng_inflateGetDictionary(&inflating, made, &size32)) \
  USE(zng_inflateSync, zng_inflateSync(&inflating)) \
  USE(zng_inflateSyncPoint, zng_inflateSyncPoint(&inflating)) \
  USE(zng_inflateCopy, zng_inflateCopy(&other, &inflating)) \
  USE(zng_inflateReset, zng_inflateReset(&inflating)) \
  USE(zng_inflatePrime, zng_inflatePrime(&inflating, 3, 5)) \
  USE(zng_inflateMark, zng_inflateMark(&inflating)) \
  USE(zng_inflateGetHeader, zng_inflateGetHeader(&inflating, &header)) \
  USE(zng_inflateUndermine, zng_inflateUndermine(&inflating, 1)) \
  USE(zng_inflateValidate, zng_inflateValidate(&inflating, 1)) \
  USE(zng_inflateCodesUsed, (long)zng_inflateCodesUsed(&inflating)) \
  USE(zng_inflateBackInit, zng_inflateBackInit(&other, 15, window)) \
  USE(zng_inflateBack, zng_inflateBack(&other, feed, NULL, drain, NULL)) \
  USE(zng_inflateBackEnd, zng_inflateBackEnd(&other)) \
  USE(zng_zlibCompileFlags, (long)zng_zlibCompileFlags()) \
  USE(zlibng_version, zlibng_version()[0]) \
  USE(zng_zError, zng_zError(Z_DATA_ERROR)[0]) \
  USE(zng_get_crc_table, (long)zng_get_crc_table()[1]) \
  USE(zng_compressBound, (long)zng_compressBound(1000)) \
  USE(zng_adler32, (long)zng_adler32(1, text, 9)) \
  USE(zng_adler32_z, (long)zng_adler32_z(1, text, 9)) \
  USE(zng_adler32_combine, (long)zng_adler32_combine(1, 2, 3)) \
  USE(zng_crc32, (long)zng_crc32(0, text, 9)) \
  USE(zng_crc32_z, (long)zng_crc32_z(0, text, 9)) \
  USE(zng_crc32_combine, (long)zng_crc32_combine(1, 2, 3)) \
  USE(zng_crc32_combine_gen, (long)zng_crc32_combine_gen(3)) \
  USE(zng_crc32_combine_op, (long)zng_crc32_combine_op(1, 2, 3)) \
  USE(zng_gzdopen, zng_gzdopen(-1, "r") == NULL) \
  USE(zng_gzbuffer, zng_gzbuffer(written, 4096)) \
  USE(zng_gzsetparams, zng_gzsetparams(written, 3, Z_DEFAULT_STRATEGY)) \
  USE(zng_gzread, zng_gzread(read_again, made, 4)) \
  USE(zng_gzfread, (long)zng_gzfread(made, 1, 4, read_again)) \
  USE(zng_gzfwrite, (long)zng_gzfwrite(text, 1, 4, written)) \
  USE(zng_gzprintf, zng_gzprintf(written, "%d", 42)) \
  USE(zng_gzputs, zng_gzputs(written, "x")) \
  USE(zng_gzgets, zng_gzgets(read_again, (char*)made, 4) == NULL) \
  USE(zng_gzputc, zng_gzputc(written, 'x')) \
  USE(zng_gzgetc, (zng_gzgetc)(read_again)) \
  USE(zng_gzungetc, zng_gzungetc('x', read_again)) \
  USE(zng_gzflush, zng_gzflush(written, Z_SYNC_FLUSH)) \
  USE(zng_gzseek, (long)zng_gzseek(written, 9, SEEK_SET)) \
  USE(zng_gzrewind, zng_gzrewind(read_again)) \
  USE(zng_gztell, (long)zng_gztell(written)) \
  USE(zng_gzoffset, (long)zng_gzoffset(written)) \
  USE(zng_gzeof, zng_gzeof(written)) \
  USE(zng_gzdirect, zng_gzdirect(written)) \
  USE(zng_gzerror, zng_gzerror(written, &number)[0]) \
  USE(zng_gzclearerr, (zng_gzclearerr(written), 0)) \
  USE(deflate_stored, packed(0, Z_DEFAULT_STRATEGY)) \
  USE(deflate_fast, packed(2, Z_DEFAULT_STRATEGY)) \
  USE(deflate_slow, packed(9, Z_DEFAULT_STRATEGY)) \
  USE(deflate_huff, packed(6, Z_HUFFMAN_ONLY)) \
  USE(deflate_rle, packed(6, Z_RLE))

#define NAME(name, call) #name,
static const char* const names[] = {USES(NAME)};

static long use(const char* name) {
#define CALL(function, call) if (strcmp(name, #function) == 0) return call;
  USES(CALL)
  return packed(6, Z_DEFAULT_STRATEGY) + packed(1, Z_DEFAULT_STRATEGY);
}

int main(int count, char** words) {
  if (count == 1) {
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) puts(names[at]);
    return 0;
  }
  zng_deflateInit(&deflating, 6);
  zng_inflateInit(&inflating);
  written = zng_gzopen("/dev/null", "wb");
  zng_gzwrite(written, text, sizeof text);
  read_again = zng_gzopen("/dev/null", "rb");
  printf("%s %ld\n", words[1], use(words[1]));
  return 0;
}
