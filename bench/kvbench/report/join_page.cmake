# cmake -DOUTPUT=FILE -DPARTS=a.html;b.css;c.js -P join_page.cmake
# Writes a C++ source that defines the page (page_template.h): the .html, with the .css files in the
# place of %STYLE% and the .js files, in one scope, in that of %SCRIPT%.
set(html "")
set(style "")
set(script "")
foreach(part IN LISTS PARTS)
  file(READ "${part}" text)
  if(part MATCHES "\\.html$")
    string(APPEND html "${text}")
  elseif(part MATCHES "\\.css$")
    string(APPEND style "${text}")
  elseif(part MATCHES "\\.js$")
    string(APPEND script "${text}")
  else()
    message(FATAL_ERROR "${part}: expected a .html, .css or .js file")
  endif()
endforeach()
foreach(place STYLE SCRIPT TITLE DATA)
  if(NOT html MATCHES "%${place}%")
    message(FATAL_ERROR "%${place}% is nowhere in the page's .html")
  endif()
endforeach()
string(REPLACE "%STYLE%\n" "${style}" html "${html}")
string(REPLACE "%SCRIPT%\n" "\"use strict\";\n(() => {\n${script}})();\n" html "${html}")
if(html MATCHES "\\)page\"")
  message(FATAL_ERROR "the page contains what ends the C++ literal that it becomes")
endif()
file(WRITE "${OUTPUT}" "#include \"bench/kvbench/report/page_template.h\"\n
namespace dunlin::kvbench {\n
const std::string_view kPageTemplate = R\"page(${html})page\";\n
}  // namespace dunlin::kvbench\n")
