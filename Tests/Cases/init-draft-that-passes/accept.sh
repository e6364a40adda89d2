# Gives each rule of a draft an age, enables it, and checks it.
sed 's/max_age:   /max_age: 30d/; s/enabled: false/enabled: true/' >retention.yaml; mkdir -p -m 700 archive; retention check >check.txt; echo $?
