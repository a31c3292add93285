"""Operations run on fake values: results, exceptions, what they did to the fakes."""
