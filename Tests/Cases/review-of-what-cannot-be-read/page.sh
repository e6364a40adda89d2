retention report --html - | sed 's/<[^>]*>/ /g' | tr -s ' \n' ' '
