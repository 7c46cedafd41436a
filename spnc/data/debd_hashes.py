"""SHA-256 of the sixty uncompressed files of the public DEBD collection, by name and split."""

from __future__ import annotations

DEBD_SHA256: dict[str, dict[str, str]] = {
    "accidents": {
        "train": "a76648cf00772c275b4277b21d858e235e3c6d3c5ef30beeb4958189b6bed21c",
        "valid": "fd3a80a0f411f157cf3772a057d26980bb166cb89b10cafb818a53f1ec30d46d",
        "test": "df3f1b6c035bf3e306a7d7127320e479d2546ce14a5d6d3043e6be0925b8b414",
    },
    "ad": {
        "train": "045d428f4d16f11adc165c0bd6e3d148236890385fd2c1283678d4eb12a88fd6",
        "valid": "409f039d6d4c859b5b00a45407560cf634321556390e39d9cd481f4cb69401d4",
        "test": "230c3d09c21b36144185c04cb89d3b21090670561778f766721165bb7d9cca97",
    },
    "baudio": {
        "train": "b1ec73f4aa9d4ce48b465ded865cc3d22b3f68cf6258f9e15fbef8902138add1",
        "valid": "7164d8a4943f74953f0e982002d84693fdf483e17f69e7407dc939c5ce5622fe",
        "test": "1474f3206f1f35e099803a0f40b0cd209bdc8d787825095ef6cb23fd87ed0d05",
    },
    "bbc": {
        "train": "a6f0ba467ebf502ba3b37caa1f20e43ff82664dcd580be92010106cf80fb0db1",
        "valid": "f6a37bd58cdb6745725628be19dfd3b9b795082faa8ca771b8f27dbf4a5ff46d",
        "test": "7116fce92a1f3d610cee673a974c8c9895957ee07ce6f086b431ee296aa7734a",
    },
    "bnetflix": {
        "train": "73c87cf0635ec734cc0726a5c644b904ff33e81ea51f1049db0e77b787ebad7c",
        "valid": "7f0a3e597c6f305f707f9ecd2b2aa523c576cdb17fdc5d902fc832ebea5163de",
        "test": "af73990782fd2f146d96059855c4f3bbb6a7a7caefc417ff620a3ed1415a2395",
    },
    "book": {
        "train": "e2458d1db3b9f2ad74a4034dee19c72213d20bd246a51750ef728041e130b6a7",
        "valid": "a111d7a024f88b062c60431306ad521dec64ec6cc2a2bca10503da647d1f0aaf",
        "test": "94e7ec33fe7a84b4a92f248d8f0c0e35143f3cd56f5a609f4311c38218e420b9",
    },
    "c20ng": {
        "train": "918fef27a3a6d382f1af3713a81a8465c63d56339a26e183d22b682b18ef8dd3",
        "valid": "be357eab542b402197548801af1511e51f6435f29c069f39e09ca5763db03bef",
        "test": "534d7675128740ea820e9ce2be84ed0f52e670b8224ce9c83a4a22492e60ec8c",
    },
    "cr52": {
        "train": "fa334e35e419301883463bb42043f54d814d1865d90dd92eef09f997efab8095",
        "valid": "9dbb0c6537b4ba3ee5316425dadf4b9e29c36b74e4ccfef28728f2d33a5c0e96",
        "test": "758a2ec314962c902dcc57562b92d98317b1f662b8eb1e529a0aa3b67a20c5d4",
    },
    "cwebkb": {
        "train": "d5c73fba414b6bfeb483781fa353220e5b94456e3c661aa14cc8094a35aaca55",
        "valid": "1ab1f1abe7b20a4d78009eaaf64a78f5798a82a7823b8b3368abca4c16398a9e",
        "test": "d84dddffec11d4dc80f90afa3160fe8d54311de8a368383708123087f39f8ac4",
    },
    "dna": {
        "train": "bb8de0ca4b6ad9b610036b7a302962ebecd4b504354b14c02c7d0bee48d207d9",
        "valid": "4b0fc89cda5eaf5c75926e281afb6af99de194a546070d5b81b524ba251f4f3f",
        "test": "fec3ae7b26804020a9c43c99828441c5e08bb76b23719368a74ad2b09af99100",
    },
    "jester": {
        "train": "dd93578c3359d5b234bb278bf0901c5215d83b910f7d51d7c91951a0a4c244cd",
        "valid": "91df833941e189265345898d3f63211560c2456df599f34beee8e95381ee7524",
        "test": "346044fb561cf18f284f7e9d5896178b03048991b6ebb6f7482885fccbc16082",
    },
    "kdd": {
        "train": "8d26e8e5baf164df3315bf33861e53052457200a9a57834eae027d84c6e28c12",
        "valid": "582aae9cf84785758869328d44295428395c53e5a091855ca0bf141a53c70765",
        "test": "5cc76212353d13ffc98574c29c14b4b7b7363081acc3a76214e5ff2a5baa79b2",
    },
    "kosarek": {
        "train": "31ca93de99cf823c22fb207a81043834c887e52b71d86c586a4939be16a2206a",
        "valid": "5a4a5edc60b9c30a76b44fdc2978e976fec49c1544e850fe72a73ee60f760aa4",
        "test": "c54cb99ae56399e26005daba5d56d92d215f73fbb46ce75b9a919690b2990225",
    },
    "msnbc": {
        "train": "92b1f4ed42ef87dafd6fe57c2e5c3b3dbc565157d2bc994a9b423898cd656e5e",
        "valid": "b937466c3e09b956b271438b2ff45ca4dc8b91890c9de6d02e486b0e22bf4e27",
        "test": "60ff71cc017cfde0bd84f0cd383ccd29065f5c06a64404b77d28c4b26aa1aca5",
    },
    "msweb": {
        "train": "dc70b036c0af1822f39e12d4bfdb9a67dcfa23da40fbae4dbd7f83becf0b7a5b",
        "valid": "a317cd9261dfa29982f0b8663943292773f6c31220d06071e9165c7c9eca13f5",
        "test": "a4f071037f0734618695bc8428e8d8ffefc03e52ff97f37e17c928fc964819ff",
    },
    "nltcs": {
        "train": "e547a7aedad1dd2f7177030881ab1b92c7e24ae5464c71a0f1f89daecaf52b30",
        "valid": "93bbbf5c6febdc9bc6e5b5bfab636f4dc0685ab2896d24b23dd267794c3bfcf6",
        "test": "f9ffa6b74b27dc03bee3203d157ee31079e80b13be40d0c0093d635c25aed523",
    },
    "plants": {
        "train": "1fb1219ff94068d12a563f9e81f8889a1885f41e867884cff608669300c6848f",
        "valid": "47834ed318b2d74f48e4b083226ef47fd446d41986012ceae19d230574821b34",
        "test": "95f53c033cd1d86467aec2610dc5bfe014534206c2da4919f73bcab246ab8755",
    },
    "pumsb_star": {
        "train": "27e610b5f9f507f94ebf8a227f8b96cc59d7eed51e06ee5d2fe8353afbc1524c",
        "valid": "6a491d1ea64eb0249dddd168fdddeef88aa21001a933eb7309603b6466187af8",
        "test": "b2da195314ac17f9d8d171743c5f98a28ea9583332a52d34aa228ff2e11aa8e7",
    },
    "tmovie": {
        "train": "f76927e1b763487af99baa07e8de8e4641595cbdd57eb2ccddfff2ce5c33cb59",
        "valid": "5162bf6ba0cd3d94d5107a48f7a3be4c6f0ca2cc99ef9a2273fa5bb1787cf257",
        "test": "805e27d91fb2bff00d0183a3e941721bf93050efdd45b77ffd79d4bb906168d6",
    },
    "tretail": {
        "train": "f85cbbde32672c029ff3c53b44e81bb29a6843cb50f962d2ae0b7326da9d7df0",
        "valid": "69024b394252f491a518ca93e164029fdae7d8c8eae7105739e8ab517b62e418",
        "test": "474ffe4b10b213c0539a95d070955c35f042eb80d5a6198f7fca849cae28b378",
    },
}
