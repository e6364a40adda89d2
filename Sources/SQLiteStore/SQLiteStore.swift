import PriceStore
