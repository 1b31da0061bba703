// names.cpp — libdw does the reading. One Dwfl a module, opened at its first address, closed at the end.
#include "observe/symbolizer/names.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

namespace weft::symbolizer {
namespace {

std::string demangled(const std::string& linkage_name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(linkage_name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : linkage_name;
}

// The attribute of the entry itself or of the declaration that it completes.
const char* string_of(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

int number_of(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr(die, attribute, &found), &value) == 0 ? static_cast<int>(value) : 0;
}

// The entry that says what a function is; an inlined or completed one only refers to it.
Dwarf_Die definition_of(Dwarf_Die die) {
  for (unsigned attribute : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute reference;
    Dwarf_Die target;
    if (dwarf_formref_die(dwarf_attr(&die, attribute, &reference), &target)) return definition_of(target);
  }
  return die;
}

// For functions without a linkage name, as lambdas that are always inlined: "main::{lambda}::operator()".
std::string qualified_name(Dwarf_Die die) {
  Dwarf_Die definition = definition_of(die);
  int tag = dwarf_tag(&definition);
  const char* own = dwarf_diename(&definition);
  std::string name = own ? own : tag == DW_TAG_namespace ? "(anonymous namespace)" : "{lambda}";
  Dwarf_Die* scopes = nullptr;
  int n = dwarf_getscopes_die(&definition, &scopes);
  for (int i = 1; i < n; ++i) {
    int outer = dwarf_tag(&scopes[i]);
    if (outer == DW_TAG_lexical_block || outer == DW_TAG_inlined_subroutine) continue;
    if (outer != DW_TAG_compile_unit) name = qualified_name(scopes[i]) + "::" + name;
    break;
  }
  free(scopes);
  return name;
}

function named(Dwarf_Die* die) {
  function f;
  if (const char* linkage = string_of(die, DW_AT_linkage_name)) {
    f.linkage_name = linkage;
    f.name = demangled(f.linkage_name);
  } else {
    f.linkage_name = f.name = qualified_name(*die);
  }
  return f;
}

std::string full_path(Dwarf_Die* unit, const char* file) {
  if (!file) return {};
  std::filesystem::path path = file;
  const char* directory = string_of(unit, DW_AT_comp_dir);
  if (path.is_relative() && directory) path = std::filesystem::path(directory) / path;
  return path.lexically_normal().string();
}

std::string file_number(Dwarf_Die* unit, int number) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0) return {};
  return full_path(unit, dwarf_filesrc(files, static_cast<std::size_t>(number), nullptr, nullptr));
}

// The function that contains `address` and what is inlined there, innermost first, wherever it is declared:
// GCC puts the functions of a local class below a function with other addresses, where dwarf_getscopes does
// not look.
bool search(Dwarf_Die* below, Dwarf_Addr address, std::vector<Dwarf_Die>& chain) {
  Dwarf_Die die;
  if (dwarf_child(below, &die) != 0) return false;
  do {
    int tag = dwarf_tag(&die);
    bool is_code =
        tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
    bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
    if (!is_code && !is_scope) continue;
    bool is_here = is_code && dwarf_haspc(&die, address) > 0;
    if (search(&die, address, chain) || is_here) {
      if (is_here) chain.push_back(die);
      return true;
    }
  } while (dwarf_siblingof(&die, &die) == 0);
  return false;
}

// The entries that contain `address`, innermost first, as they lie in the code (not in the source).
std::vector<Dwarf_Die> chain_at(Dwarf_Die* unit, Dwarf_Addr address) {
  Dwarf_Die* scopes = nullptr;
  int n = dwarf_getscopes(unit, address, &scopes);
  if (n <= 1) {   // nothing, or the unit only
    if (n == 1) free(scopes);
    std::vector<Dwarf_Die> chain;
    search(unit, address, chain);
    return chain;
  }
  Dwarf_Die innermost = scopes[0];
  free(scopes);
  n = dwarf_getscopes_die(&innermost, &scopes);
  if (n <= 0) return {};
  std::vector<Dwarf_Die> chain(scopes, scopes + n);
  free(scopes);
  return chain;
}

// By the table of address ranges. Clang writes none, and then the next best unit that has one is found: so
// every unit is asked.
Dwarf_Die* unit_at(Dwfl_Module* dwfl_module, Dwarf_Addr address, Dwarf_Addr& bias) {
  Dwarf_Die* unit = dwfl_module_addrdie(dwfl_module, address, &bias);
  if (unit && dwarf_haspc(unit, address - bias) > 0) return unit;
  unit = nullptr;
  while ((unit = dwfl_module_nextcu(dwfl_module, unit, &bias)) != nullptr)
    if (dwarf_haspc(unit, address - bias) > 0) return unit;
  return nullptr;
}

void add_functions_by_debug_info(place& where, Dwfl_Module* dwfl_module, Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = unit_at(dwfl_module, address, bias);
  if (!unit) return;
  std::string file;
  int line = 0;
  if (Dwarf_Line* source = dwarf_getsrc_die(unit, address - bias)) {
    file = full_path(unit, dwarf_linesrc(source, nullptr, nullptr));
    dwarf_lineno(source, &line);
  }
  for (Dwarf_Die& die : chain_at(unit, address - bias)) {
    int tag = dwarf_tag(&die);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    function f = named(&die);
    f.file = file;
    f.line = line;
    f.inlined = tag == DW_TAG_inlined_subroutine;
    where.functions.push_back(f);
    if (!f.inlined) return;
    file = file_number(unit, number_of(&die, DW_AT_call_file));
    line = number_of(&die, DW_AT_call_line);
  }
}

}  // namespace

struct names::module {
  Dwfl* dwfl = nullptr;
  Dwfl_Module* only = nullptr;
  Dwarf_Addr start = 0;

  module() = default;
  module(const module&) = delete;
  module& operator=(const module&) = delete;
  ~module() {
    if (dwfl) dwfl_end(dwfl);
  }
};

names::names() { unsetenv("DEBUGINFOD_URLS"); }   // a dying process does not wait for the network

names::~names() = default;

names::module& names::open(const std::string& path) {
  auto [at, is_new] = modules_.try_emplace(path);
  module& m = at->second;
  if (!is_new) return m;
  static char* no_path = nullptr;
  static const Dwfl_Callbacks callbacks = {
      dwfl_build_id_find_elf, dwfl_standard_find_debuginfo, dwfl_offline_section_address, &no_path};
  m.dwfl = dwfl_begin(&callbacks);
  if (!m.dwfl) return m;
  dwfl_report_begin(m.dwfl);
  m.only = dwfl_report_offline(m.dwfl, path.c_str(), path.c_str(), -1);
  dwfl_report_end(m.dwfl, nullptr, nullptr);
  if (m.only) dwfl_module_info(m.only, nullptr, &m.start, nullptr, nullptr, nullptr, nullptr, nullptr);
  return m;
}

place names::find(const std::string& path, std::uint64_t offset, bool exact) {
  place where;
  module& m = open(path);
  if (!m.only) return where;
  Dwarf_Addr address = m.start + offset - (exact ? 0 : 1);

  add_functions_by_debug_info(where, m.only, address);
  GElf_Sym symbol;
  GElf_Off from_symbol = 0;
  const char* name = dwfl_module_addrinfo(m.only, address, &from_symbol, &symbol, nullptr, nullptr, nullptr);
  if (!name) return where;
  where.offset = from_symbol + (exact ? 0 : 1);
  if (where.functions.empty() || where.functions.back().inlined) {
    function f;
    f.linkage_name = name;
    f.name = demangled(name);
    where.functions.push_back(f);
  } else if (function& outermost = where.functions.back(); outermost.linkage_name.rfind("_Z", 0) != 0) {
    outermost.linkage_name = name;   // a lambda's entry has a plain name only
    outermost.name = demangled(name);
  }
  return where;
}

}  // namespace weft::symbolizer
