#include <cstdio>
#include <cstring>
int sum(const char* text);
int main(int argc, char** argv)
{
    if (argc < 2) { std::fprintf(stderr, "usage: %s FILE\n", argv[0]); return 2; }
    std::FILE* file = std::fopen(argv[1], "r");
    if (!file) { std::perror(argv[1]); return 3; }
    char word[64];
    int bad = 0;
    while (std::fscanf(file, "%63s", word) == 1) {
        int found = sum(word);
        if (found < 0) { bad = 1; continue; }
        std::printf("%d\n", found);
    }
    std::fclose(file);
    return bad;
}
