"""Words too common to tell one passage from another, per language (ISO 639-1).

Own lists: articles, pronouns, prepositions, conjunctions, auxiliary verbs, question words and the remains of
contractions that a split at the apostrophe leaves ("don", "isn", "qu"), or that are typed without one ("dont"). Nothing
that can be a topic is in them.
"""

from __future__ import annotations

from functools import cache

from .scripts import fold_accents, normal

_WORDS = {
    "en": """
        a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself yourselves
        he him his himself she her hers herself it its itself they them their theirs themselves one ones and or but
        nor so yet if then else than because as while although though unless until whereas whether of at by for with
        about into onto through during before after to from in out on off over under upon via within without between
        among against toward towards per is am are was were be been being do does did doing done have has had having
        can could will would shall should may might must ought what which who whom whose when where why how here there
        all any both each few more most other some such no not only own same too very just also again further once
        ever never always often even still already around etc ie eg s t d ll m o re ve don doesn didn isn aren wasn
        weren hasn haven hadn won wouldn couldn shouldn mustn needn ain shan mightn let lets please now
        dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt couldnt shouldnt cant mustnt neednt
        youre youve theyre theyve weve ive thats whats heres theres wheres hows whos
    """,
    "de": """
        der die das den dem des ein eine einer eines einem einen kein keine keiner keines keinem keinen ich du er sie
        es wir ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine meiner meines meinem meinen dein deine
        deiner deinem deinen sein seine seiner seines seinem seinen ihre ihrer ihres ihrem ihren unser unsere unserer
        unserem unseren euer eure und oder aber denn sondern doch als wie wenn weil dass daß ob damit obwohl während
        bevor nachdem in im an am auf aus bei beim bis durch für gegen mit nach ohne seit über um unter von vom vor zu
        zum zur zwischen hinter neben ins ans ist sind war waren bin bist seid gewesen sei wäre wären wird werden
        wurde wurden worden würde würden habe hast hat haben hatte hatten hätte hätten kann kannst können konnte
        könnte könnten muss müssen musste soll sollen sollte will wollen wollte darf dürfen dürfte mag möchte was wer
        wen wem wessen wo wohin woher wann warum wieso weshalb welche welcher welches welchem welchen dieser diese
        dieses diesem diesen jener jene jenes jeder jede jedes jedem jeden alle allen aller alles man nicht auch nur
        noch schon sehr so hier da dort dann nun mal etwas nichts mehr einige einigen viele bitte dabei dazu dafür
        davon daran darauf darin sowie bzw
    """,
    "fr": """
        le la les un une des du de au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur
        leurs je tu il elle on nous vous ils elles me te se lui y en moi toi soi eux et ou où mais donc or ni car que
        qu qui quoi dont si comme quand lorsque lorsqu puisque puisqu parce dans par pour sur sous avec sans entre
        vers chez contre depuis pendant avant après jusque jusqu selon à l d c j m n s t est sont suis es sommes êtes
        était étaient étais été être étant sera seront serait soit soient fut ai as a avons avez ont avait avaient
        avoir ayant aura auront aurait eu fait faire peut peuvent pouvez pouvons pouvoir doit doivent devez devoir ne
        pas plus non aussi très tout tous toute toutes même mêmes autre autres quel quelle quels quelles lequel
        laquelle lesquels pourquoi comment combien ici là cela ceci ça chaque quelque quelques plusieurs alors ainsi
        encore déjà bien
    """,
    "es": """
        el la los las lo un una unos unas al del de a ante bajo con contra desde durante en entre hacia hasta mediante
        para por según sin sobre tras y e o u ni pero sino mas que porque pues si como cuando donde mientras aunque yo
        tú tu él ella ello usted nosotros nosotras vosotros ellos ellas ustedes me te se nos os le les mi mis tus su
        sus nuestro nuestra nuestros nuestras vuestro vuestra este esta esto estos estas ese esa eso esos esas aquel
        aquella aquello aquellos es son soy eres somos era eran fue fueron ser sido siendo sea sean será serán sería
        está están estoy estamos estaba estaban estar estado ha han he has hemos había habían haber hay haya tiene
        tienen tengo tener puede pueden puedo podemos poder debe deben debo no sí también más menos muy ya todo toda
        todos todas otro otra otros otras qué quién quien quienes cuál cual cuáles cuales cómo cuándo dónde cuánto
        algo nada alguno alguna algunos algunas cada mismo misma así aquí allí sólo solo
    """,
    "it": """
        il lo la i gli le un uno una di a da in con su per tra fra del dello della dei degli delle dell al allo alla
        ai agli alle all dal dallo dalla dai dagli dalle dall nel nello nella nei negli nelle nell sul sullo sulla sui
        sugli sulle sull col l d c un e ed o od ma però anche né che chi cui se come quando dove mentre perché perche
        poiché quindi dunque io tu lui lei egli ella esso essa noi voi loro essi mi ti si ci vi ne me te sé mio mia
        miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra questo questa questi
        queste quello quella quelli quelle quel quei è sono sei siamo siete era erano essere stato stata stati state
        sia siano sarà saranno sarebbe fu ho hai ha abbiamo avete hanno aveva avevano avere avuto può possono posso
        possiamo potere deve devono devo fare fa non più molto tutto tutta tutti tutte altro altra altri altre quale
        quali quanto quanti cosa già così ancora solo ogni qui lì là
    """,
    "nl": """
        de het een der den des te ten ter ik jij je u hij zij ze wij we jullie hen hun mij me jou hem haar ons onze
        mijn jouw uw zijn dit dat deze die er hier daar en of maar want dus als dan toen omdat doordat terwijl hoewel
        indien in op aan bij van voor naar met zonder door over onder tussen tegen tot uit om na tijdens sinds vanaf
        via is ben bent was waren geweest wees wordt worden werd werden geworden heb hebt heeft hebben had hadden
        gehad kan kunt kunnen kon konden zal zult zullen zou zouden moet moeten moest mag mogen wil wilt willen wat
        wie waar wanneer waarom hoe welke welk niet geen ook nog al alle alles meer zeer veel zo zelf iets niets
        iemand ander andere elke elk ieder nu reeds wel toch maar eens hierbij daarbij
    """,
    "pt": """
        o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às por pelo pela pelos pelas para com sem
        sob sobre entre até desde contra após durante e ou mas nem que se porque pois como quando onde enquanto embora
        eu tu ele ela você vocês nós vós eles elas me te lhe lhes vos mim ti si meu minha meus minhas teu tua seu sua
        seus suas nosso nossa nossos nossas este esta estes estas isto esse essa esses essas isso aquele aquela
        aqueles aquilo num numa dele dela deles é são sou somos era eram foi foram ser sido sendo seja sejam será
        serão seria está estão estou estamos estava estavam estar tem têm tenho temos ter tinha tinham tido há haver
        houve pode podem posso podemos poder deve devem não sim também mais menos muito muitos já só todo toda todos
        todas outro outra outros outras qual quais quem quanto quantos cada mesmo mesma algum alguma alguns algo nada
        aqui ali assim
    """,
    "ru": """
        и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее её мне было вот от
        меня еще ещё нет о об из ему теперь когда даже ну вдруг ли если уже или ни быть был была были него до вас
        нибудь опять уж вам ведь там потом себя ничего ей может могут они тут где есть надо ней для мы тебя их чем сам
        сама чтоб чтобы без будто чего раз тоже также себе под будет будут ж тогда кто этот эта это эти этого этой
        этому этим этих того той тому тем тех потому какой какая какие каким ним здесь этом один почти мой моя мои тем
        нее неё сейчас куда зачем всех никогда можно нужно при наконец два другой другие хоть после над больше тот та
        те через нас про всего них какая много разве три эту перед иногда лучше чуть том нельзя такой такая такие им
        более всегда конечно всю между ваш ваша наш наша свой своя свои своего который которая которое которые
        которого которой которых котором почему каждый является
    """,
    "sv": """
        och det att i en jag hon som han på den med var sig för så till är men ett om hade de av icke mig du henne då
        sin nu har inte hans honom skulle hennes där min man ej vid kunde något från ut när efter upp vi dem vara vad
        över än dig kan sina här ha mot alla under någon eller allt mycket sedan ju denna själv detta åt utan varit
        hur ingen mitt ni bli blev oss din dessa några deras blir mina samma vilken er sådan vår blivit dess inom
        mellan sådant varför varje vilka ditt vem vilket sitt sådana vart dina vars vårt våra ert era vilkas ska skall
        måste också bara eftersom samt dock kommer får
    """,
    "da": """
        og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min havde ham hun
        nu over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne ind når være dog
        noget ville jo deres efter ned skulle denne end dette mit også under have dig anden hende mine alt meget sit
        sine vor mod disse hvis din nogle hos blive mange ad bliver hendes været jer sådan hvordan hvorfor hvilken
        hvilke kan må et uden mellem fordi ved kun hver hvert ingen
    """,
    "no": """
        og i jeg det at en et den til er som på de med han av ikke der så var meg seg men ett har om vi min mitt ha
        hadde hun nå over da ved fra du ut sin dem oss opp man kan hans hvor eller hva skal selv her alle vil bli ble
        blitt kunne inn når være kom noen noe ville dere deres kun etter ned skulle denne for deg si sine sitt mot å
        meget hvorfor dette disse uten hvordan ingen din ditt blir samme hvilken hvilke sånn inni mellom vår hver hvem
        også fordi bare må eller
    """,
    "fi": """
        olla olen olet on olemme olette ovat oli olivat ollut ei en et emme ette eivät eikä ja tai sekä että jos kun
        koska mutta vaan kuin niin myös vain jo vielä minä sinä hän me te he se ne tämä nämä tuo nuo joka jotka mikä
        mitkä mitä kuka ketkä jonka jossa josta johon joita tämän tässä tästä sen siinä siitä niiden niitä hänen minun
        sinun meidän teidän heidän kanssa ilman ennen jälkeen kautta sitten siis voi voit voivat voidaan pitää täytyy
        miten miksi missä milloin kaikki muu muut
    """,
    "pl": """
        a aby ach ale albo ani aż bardziej bardzo bez bo bowiem by być był była było były będzie będą chociaż co coś
        czego czemu czy czyli dla dlaczego dlatego do dość gdy gdyby gdyż gdzie i ich ile im inna inne inny innych ja
        jak jaka jaki jakie jako je jednak jego jej jemu jest jestem jeszcze jeśli jeżeli już każda każde każdy kiedy
        kilka kogo kto która które którego której który których którym którzy lecz lub ma mają masz może możemy możesz
        mogą można moja moje mój mu musi musisz my na nad nam nami nas nasz nasze nawet nic nich nie niej nim niż no o
        obok od on ona one oni ono oraz po podczas ponieważ poza przed przede przez przy również są siebie się sobie
        swoje swój ta tak także taki takie tam te tego tej temu ten też to tobie tu tutaj twoje twój ty tych tylko tym u
        w wam wami was wasz we wiele więc wszystkie wszystko wtedy wy z za zawsze ze że żadna żaden żeby
    """,
    "cs": """
        a aby ale anebo ani ano asi až bez bude budete budou by byl byla byli bylo být co což či další do ho i já jak
        jaká jaké jaký jako je jeho jej její jejich jen jenž jestli jestliže ještě jinak jiné jsem jsi jsme jsou jste k
        každý kam kde kdo kdy když ke která které kterého kterou který kteří ku ma má mají máte mezi mi mít mnoho může
        můžete můj musí my na nad nám námi nás náš naše ne nebo nebude nejsou není než nic o od on ona oni ono pak po
        podle pokud pouze potom právě proč pro protože před přede přes při s se si své svůj ta tak také takže tam té
        těch tedy ten tento této tím to tohle toho tohoto tom tomto tomu tu tuto tvůj ty tyto u už v vám vámi vás váš ve
        více však všechny vše vy z za zda zde ze že
    """,
    "hu": """
        a az abban abból addig ahhoz ahogy ahol aki akik akkor alatt által általában amely amelyek amelyet amikor amit
        amíg annak arra arról attól azért azok azon azonban azt aztán azután bár be belül benne csak de e ebben eddig
        egy egyéb egyes egyik ehhez el elő először előtt elég én ennek erre erről és ezek ezen ezért ezt ez fel felé ha
        hanem hiszen hogy hogyan ide igen így ill ilyen is itt jó jobban kell kellene keresztül ki kívül között közül le
        legyen lehet lesz lett ma maga magát majd már más másik meg még mellett mely melyek mert mi mikor milyen mind
        mindegyik minden mindig mint mintha mit mivel most nagyon ne nekem neki nélkül nem nincs olyan ott össze ő ők
        őket pedig persze s saját sem semmi sok számára szemben szerint szinte talán te tehát tovább több ugyanis után
        utána úgy új vagy vagyis vagyok valaki valami való van vannak vele viszont volna volt
    """,
    "ro": """
        a acea aceasta această aceea acel acela acele acelea acest acesta aceste acestea acestor acestui ai aici al ale
        alt alte altul am ar are aș asta astfel atât ați atunci au avea avem aveți că când căror care cât câte către ce
        cele cei cine cu cum da dacă dar de deci deja deși despre din dintre doar după ea ei el ele era este eu există
        fără fi fie fiecare fiind fost iar îi il îl îmi în înainte într între îți la le lor lui mai mea mult multe nici
        nimic noastră noi noștri nostru nu o oricare orice ori pe pentru peste poate pot prin puteți să sau se și sunt
        sunteți ta tău te tot toate toți tu un una unde unei unele unor unui vă voastră voi vom vor voștri vostru
    """,
    "tr": """
        acaba ama ancak artık aslında az bana bazı belki ben benden beni benim bile bir biraz birçok biri birkaç birşey
        biz bize bizi bizim böyle böylece bu buna bunda bundan bunlar bunları bunların bunu bunun burada çok çünkü da
        daha de değil değildir diğer diye dolayı dolayısıyla eğer en fakat gibi göre hala hangi hani hatta hem henüz hep
        hepsi her herhangi herkes hiç hiçbir için ile ilgili ise işte itibaren kadar karşın kendi kendine kendini kez ki
        kim kimse madem mı mi mu mü nasıl ne neden nedenle nerede nereye niçin niye o olan olarak oldu olduğu olduğunu
        olması olsa olur on ona ondan onlar onları onların onu onun öyle oysa pek rağmen sadece sanki sen sana seni
        senin siz sizi sizin şey şeyi şimdi şöyle şu şuna şunu tarafından tüm üzere vardır ve veya veyahut ya yani
        yapmak yerine yine yoksa zaten
    """,
    "id": """
        ada adalah agar akan aku anda antara apa apabila apakah atas atau bagaimana bagi bahwa banyak bawah begitu belum
        berbagai beberapa bila bisa boleh bukan cara dalam dan dapat dari daripada demikian dengan di dia dimana hanya
        harus hingga ia ini itu jadi jangan jika juga kalau kami kamu kapan karena ke kecuali kemudian kenapa kepada
        ketika kita lagi lain lalu lebih maka mana masih mengapa mereka meskipun mungkin namun nanti oleh pada paling
        para pernah pun saat saja sama sampai sangat satu saya se sebab sebagai sebelum sebuah sedang sehingga sejak
        selain selalu selama seluruh semua seorang seperti serta sesuatu sesudah setelah setiap siapa suatu sudah supaya
        tanpa tapi telah tentang terhadap tersebut tetapi tidak untuk walaupun yaitu yakni yang
    """,
    "vi": """
        ai anh bạn bằng bao bất bị biết bởi các cái càng cần chỉ cho chưa chúng chứ có còn của cùng cũng cứ đã đang đâu
        đây để đến đều điều đó do được gì giữa hay hãy hoặc hơn khác khi không là làm lại lên lúc mà mỗi một muốn nào
        này nên nếu ngay người nhiều như nhưng những nơi nó nữa ở phải qua ra rằng rất rồi sao sau sẽ ta tại tất theo
        thì thế thêm thể tôi trên trong trước từ từng và vào vẫn vậy về vì việc với vừa
    """,
    "uk": """
        а або авжеж адже але аби б без би бо бути був була були було буде будуть в вам вами вас ваш ваша ваше ваші весь
        вже ви від він вона вони воно все всі всіх втім где для до ж за завжди замість з зі із їй їм їх її й його йому і
        інший інша інші інше коли кожен кожна кожне котрий котра куди лише має мають мене мені ми мій моя моє мої може
        можна можуть можете на над нам нас наш наша наше наші не неї нема немає нехай ним ними них ні ніж ніколи о об
        один одна одне однак окрім он от ось перед під по поки після при про потім потрібно проте саме сам свій своя
        своє свої себе собі та так така таке такий такі також там те теж тепер ти тим тих то тобто тоді того тому той
        тут ту у уже хай хоч хоча хто це цей ця цю ці цього цьому цим цих цієї через чи чим чого чому що щоб щось я як
        яка яке який які якого якої яким яких якщо скільки де чий зокрема
    """,
    "ca": """
        el la els les l un una uns unes al als del dels de d a en amb per pel pels sense sobre sota entre fins des
        contra durant segons cap i o ni però sinó que què perquè si com quan on mentre encara doncs jo tu ell ella vostè
        nosaltres vosaltres ells elles em et es ens us hi ho ne me te se m t s n meu meva meus meves teu teva seu seva
        seus seves nostre nostra nostres vostre vostra vostres aquest aquesta aquests aquestes aquell aquella aquells
        aquelles això allò és són soc sou som era eren fou ser sigut sent sigui siguin serà seran seria està estan estic
        estem estava estaven estar ha han he hem heu hagi havia havien haver té tenen tinc tenim teniu tenir pot poden
        puc podem podeu poder deu deuen cal no sí també més menys molt molta molts moltes ja tot tota tots totes altre
        altra altres quin quina quins quines qui quant cada mateix mateixa algun alguna alguns algunes res aquí allà
        així després abans només sempre mai ara dins
    """,
    "sk": """
        a aby aj ak ako ale alebo ani áno asi až bez bol bola boli bolo bude budete budú by byť cez čí či čo ďalšie do
        ho i ich iba iné ja je jej jeho jemu ju k každý každá každé kam kde keď keďže kým kto ktorá ktoré ktorého ktorej
        ktorom ktorou ktorú ktorý ktorým ktorých ktorí ku lebo len ma má majú mal máte medzi mi mňa môj môže môžete môžu
        mu musí my na nad nám nami nás náš nášho ne nech než nič nie niektoré o od okrem on ona oni ono po podľa pokiaľ
        potom práve pre prečo pred pretože pri s sa seba si sme so som ste sú svoj ta tá tak také takže takto tam táto
        te teda ten tento tieto títo to toho tohto tom tomto tomu túto ty týchto tým už v vám vami vás váš vaše vaša
        vášho veľmi viac všetky všetko vo však vy z za že zo
    """,
    "bg": """
        а ако ала без би бил била били било бъде бяха в вас ваш ваша вашата вашия ви вие във все всеки всички всичко
        всяка г ги го да дали до докато дори друг друга други е едва един една едно за защо защото и из или им има искам
        й как каква какво какъв какви като кога когато кого което които кой който колко която къде към ли м между ме мен
        ми много може можете можем мога могат му на над най нас не него нещо нея ни ние никой но някои някой няма обаче
        около освен от още по под поради после почти пред преди при през с са само се сега си след сме със също съм сте
        така такава такива такъв там твой те тези ти това тогава този той толкова точно трябва тук тъй тя тях у ще че
        чрез аз нашия наш нека
    """,
    "el": """
        ο η το οι τα του της των τον την τους τις στο στη στην στον στα στις στους ένας μια μία ένα ενός μιας και ή αλλά
        όμως αν εάν όταν ενώ ώστε επειδή γιατί διότι ότι πως πώς που πού να θα ας μη μην δεν δε με σε από για προς κατά
        μετά παρά αντί χωρίς μέχρι έως ως σαν όπως είναι είμαι είσαι είστε ήταν ήμουν έχω έχει έχετε έχουν είχε μπορεί
        μπορείτε μπορώ πρέπει εγώ εσύ αυτός αυτή αυτό αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν αυτήν εμείς εσείς μου σου
        μας σας τι ποιος ποια ποιο ποιοι ποιες κάθε κάποιος κάποια κάποιο όλα όλοι όλες όλο πολύ πιο επίσης ήδη μόνο εδώ
        εκεί τότε τώρα έτσι όσο οποίο οποία οποίος οποίων οποίες
    """,
    "ar": """
        في من على إلى الى عن مع هذا هذه ذلك تلك هؤلاء التي الذي الذين اللذان اللاتي ما ماذا هل كيف لماذا متى أين كم أي
        أن إن أنّ لأن كان كانت يكون تكون كانوا ليس ليست لا لم لن لو لولا إذا إذ قد لقد سوف ثم أو أم بل لكن لكنّ حتى حيث
        عند عندما بعد قبل بين خلال حول منذ كل كلا بعض غير سوى أيضا أيضًا فقط هنا هناك هو هي هم هن نحن أنا أنت أنتم أنتما
        له لها لهم لنا لك لي به بها بهم فيه فيها فيهم منه منها منهم عليه عليها عليهم إليه إليها عنه عنها معه معها كما
        مثل مما عما كذلك وهو وهي وهذا وهذه ومن وفي وعلى وإلى وما ولا ولم وقد وأن وإن إما أما يمكن يمكنك يجب
    """,
    "fa": """
        و در به از که این آن را با برای تا بر یا اما اگر هم نیز هر هیچ همه همین همان چه چگونه چرا کجا کی کدام است هست
        هستند بود بودند باشد باشند شد شده شود می‌شود شوند کرد کرده کند کنند کنید کنیم می‌کند می‌کنند می‌کنید می‌کنیم
        خواهد خواهند باید شاید توان می‌توان می‌توانید می‌تواند دارد دارند دارید داریم داشت داشته من تو او ما شما آنها
        آن‌ها ایشان خود خودش یک دو چند بین پس پیش بعد قبل زیرا چون ولی بلکه وقتی هنگامی جا بدون مثل مانند دیگر فقط بسیار
        خیلی نه نیست نمی آیا روی زیر درباره توسط
    """,
    "he": """
        של את על אל עם זה זו זאת אלה אלו הוא היא הם הן אני אתה אתם אנחנו אנו לא כן גם רק או אבל אם כי כאשר כש אשר ש מה
        מי איך כיצד למה מדוע מתי איפה היכן כמה איזה איזו יש אין היה הייתה היו יהיה תהיה להיות כל כמו כדי בין אחרי לפני
        עד מן בו בה בהם לו לה להם לי לך לכם שלו שלה שלהם שלי שלך שלנו אותו אותה אותם אחר אחרת אחד אחת עוד כבר כאן שם אז
        ככה כך לכן אולי ניתן צריך יכול יכולה יכולים לפי ללא בלי דרך תוך כולל
    """,
    "hi": """
        का के की को में से पर ने और या है हैं था थे थी हो होता होती होते हुआ हुई हुए हूँ होगा होगी होना यह ये वह वे इस
        उस इन उन इसे उसे इसके उसके इसका उसका इसकी उसकी इनके उनके इनका उनका इनकी उनकी जो जब तक तब अगर यदि तो भी ही कि
        क्या क्यों कैसे कैसा कैसी कब कहाँ कहां कौन कौनसा किस किसी कोई कुछ सब सभी हर अपना अपनी अपने आप आपका आपकी आपके
        आपको हम हमारा हमारे हमारी मैं मेरा मेरी मेरे मुझे तुम एक लिए साथ बाद पहले द्वारा बीच बारे ऐसा ऐसे ऐसी वैसे जैसे
        जैसा जैसी लेकिन परंतु मगर बल्कि क्योंकि इसलिए ताकि कर करके करता करती करते करना करने करें किया किए गया गई गए जा
        जाता जाती जाते जाना सकता सकती सकते रहा रही रहे चाहिए दिया दी नहीं न मत बहुत अधिक कम ज्यादा अब यहाँ यहां वहाँ
        वहां फिर सिर्फ केवल
    """,
}

#: Languages that have a list, in the order that breaks ties when a text fits two.
LANGUAGES: tuple[str, ...] = tuple(_WORDS)


@cache
def raw_stop_words(language: str) -> frozenset[str]:
    """The list as written, lower case, with accents; empty for a language without one."""
    return frozenset(_WORDS.get(language, "").split())


@cache
def stop_words(language: str) -> frozenset[str]:
    """Stop words as the index writes words, with and without their accents: a hurried "fur" counts as "für"."""
    words = {normal(word) for word in raw_stop_words(language)}
    return frozenset(words | {fold_accents(word) for word in words})
