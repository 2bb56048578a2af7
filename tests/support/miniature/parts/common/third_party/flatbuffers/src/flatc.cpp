// flatc -o FOLDER NAME.fbs: writes FOLDER/NAME_generated.h with the schema's file identifier.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 4 || std::string(argv[1]) != "-o") {
        std::cerr << "usage: flatc -o FOLDER NAME.fbs\n";
        return 1;
    }
    const std::string schema = argv[3];
    std::ifstream file(schema);
    std::stringstream text;
    text << file.rdbuf();
    const std::string key = "file_identifier \"";
    const size_t at = text.str().find(key), begin = at + key.size();
    if (at == std::string::npos) {
        std::cerr << schema << ": no file_identifier\n";
        return 1;
    }
    const std::string identifier = text.str().substr(begin, text.str().find('"', begin) - begin);
    const size_t name = schema.find_last_of('/') + 1;
    std::ofstream out(
            argv[2] + ("/" + schema.substr(name, schema.rfind('.') - name)) + "_generated.h");
    out << "#pragma once\nconstexpr char kFileIdentifier[] = \"" << identifier << "\";\n";
    return out ? 0 : 1;
}
