CREATE TABLE Price(updateTime INTEGER UNIQUE, price REAL, symbol TEXT);
